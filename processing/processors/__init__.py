"""The processors that come with Penstock, one file each; `processing/config/built_in.py` has their names."""
