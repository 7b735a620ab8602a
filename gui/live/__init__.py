"""The live viewer: what a receiver holds, on the screen.

Nothing here talks to the detector or to the data stream; the receiver's HTTP client is the only way in.
"""
