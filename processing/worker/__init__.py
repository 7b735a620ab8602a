"""What runs a scientist's classes: one process that takes frames, and may die at any time."""
