"""Series: which message belongs to which, what became of each frame, and when it is over."""
