"""Frames for consumers: the same STINS messages again."""
