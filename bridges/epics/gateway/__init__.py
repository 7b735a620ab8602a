"""From an IOC that others arm to a receiver: its driver's records say which frames are of which series."""
