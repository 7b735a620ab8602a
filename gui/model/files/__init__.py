"""The file of the next series: its name, its number, and its place at the receiver."""
