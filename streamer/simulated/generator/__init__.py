"""A streamer without a camera: series of known frames, for tests and benchmarks."""
