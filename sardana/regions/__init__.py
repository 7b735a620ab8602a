"""Counters of the receiver's regions of interest, by frame index."""
