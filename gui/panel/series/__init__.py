"""The running series, the last one and those before, with what can be done with their files."""
