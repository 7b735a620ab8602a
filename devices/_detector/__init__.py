"""The Tango device of a detector."""
