"""The device server: the process of all devices, and the classes that it knows."""
