"""Where frames come from: the receiver, or a file."""
