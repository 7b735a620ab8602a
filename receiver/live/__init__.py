"""Frames for the eye: the newest one, and one that somebody requests."""
