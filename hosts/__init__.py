"""Processes of this host: children, and a Tango database of one's own."""
