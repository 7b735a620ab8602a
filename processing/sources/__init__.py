"""The sources of frames: the receiver, or a file."""
