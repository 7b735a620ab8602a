"""The frames that have data, and the pixels that count: one rule for everybody who reads pixels.

docs/reference/validity.md states it for users. `pixels` is the rule of pixels, `frames` that of frames.
"""
