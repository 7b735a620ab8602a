"""Frames in data files beside the file of their series: a file for every N frames, a segment."""
