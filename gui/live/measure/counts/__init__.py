"""Counts of the frame, of a rectangle and along lines."""
