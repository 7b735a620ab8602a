"""GigE Vision and USB3 Vision cameras through Aravis: binding, frame ids, pixel formats, features.

`devices/genicam.py` puts them together.
"""
