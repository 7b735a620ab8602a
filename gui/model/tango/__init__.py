"""A device as Tango has it: its name, the directory of all, calls, changes and errors."""
