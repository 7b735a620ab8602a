"""What is in HDF5 files, of Penstock and of other programs: frames, their detector, and what was stored."""
