"""The live view: the newest frame, and requested frames."""
