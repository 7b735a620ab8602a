"""Regions of interest: sum, mean and maximum of named rectangles, for every frame."""
