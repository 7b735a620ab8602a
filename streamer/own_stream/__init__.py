"""Detectors that stream by themselves: their contract, their engine, and its states."""
