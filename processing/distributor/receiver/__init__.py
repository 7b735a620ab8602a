"""What the receiver says of its series, asked by a thread of its own."""
