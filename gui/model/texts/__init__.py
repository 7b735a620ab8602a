"""What a panel says of one detector: pure functions, from its snapshot to sentences."""
