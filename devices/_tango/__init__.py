"""What every Tango device of Penstock is made of: attributes, properties, events, faults."""
