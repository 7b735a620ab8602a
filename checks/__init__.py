"""Checks: of files, of the frames in them, and of the file system that they lie on."""
