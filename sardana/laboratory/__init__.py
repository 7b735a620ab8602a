"""A small beamline with Sardana on one machine, for the demonstration and for tests."""
