"""Measuring in the picture: counts, places, distances and curves, all of whole pixels.

What is computed is in files without Qt; what takes time runs in a `Worker`; each tool has a tab.
"""
