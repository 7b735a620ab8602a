"""A streamer's sessions: sockets, connected again after a loss, and the order of sending."""
