"""Results of live processing as channels of Sardana."""
