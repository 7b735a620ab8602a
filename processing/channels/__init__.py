"""Values of Tango attributes, joined to frames by time or by number: recorded by a process of its own."""
