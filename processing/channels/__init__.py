"""Values of Tango attributes and EPICS records, joined to frames by time or by number: recorded by a
process of its own."""
