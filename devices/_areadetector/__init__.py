"""An areaDetector IOC: its records, its frames, and a stand-in."""
