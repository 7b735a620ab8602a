"""Regions of interest: sum, mean and maximum of named rectangles, and their saturated pixels, per frame."""
