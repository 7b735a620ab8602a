"""Compression of pixels by compiled libraries, for streamer and receiver."""
