"""Compressed pixels: compiled libraries behind functions of arrays and bytes, for streamer and receiver."""
