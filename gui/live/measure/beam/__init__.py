"""Beam centre, distance and energy; resolution, and rings of calibrants."""
