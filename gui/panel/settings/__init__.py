"""The settings of a detector: forms, presets, metadata, and the file of the next series."""
