"""What is in a file: the structure of NXdetector and NXmx, per-frame values, known metadata."""
