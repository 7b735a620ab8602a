"""Frames in parts: the frames of one series dealt to several files, each with a writing thread of its own."""
