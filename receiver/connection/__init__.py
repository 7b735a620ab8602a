"""Sockets to the streamers: connected, connected again, and read."""
