"""Recordings of a detector's messages: how they are read, and how they are sent."""
