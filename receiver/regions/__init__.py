"""Named regions of interest: sum, mean and maximum of rectangles of every frame."""
