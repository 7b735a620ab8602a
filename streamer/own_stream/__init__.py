"""Detectors whose own box sends the frames: their contract, the engine that drives one, its states."""
