"""The 2D channel of one detector: its series, files and phases, without Sardana."""
