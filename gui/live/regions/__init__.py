"""The receiver's named regions of interest in the live viewer: drawn, listed, changed, followed."""
