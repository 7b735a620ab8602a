"""The result file: a closed HDF5 file from its first second, whose rows are filled in place."""
