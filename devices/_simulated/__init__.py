"""What the simulated detector consists of: patterns, recordings, a trigger input, faults on request."""
