"""The plot of a frame: its colours and levels, colour bar, axes, curves, and how fast frames are drawn."""
