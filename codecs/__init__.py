"""Packed pixels, for streamer and receiver: compressed by libraries, or of 12 bits."""
