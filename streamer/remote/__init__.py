"""The process of a streamer, and both ends of its remote interface."""
