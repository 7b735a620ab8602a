"""Frames in segments, which are files of N frames each next to the file of their series."""
