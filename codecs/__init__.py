"""Pixels as they are sent: types, packing by libraries or in 12 bits, and the value of absent ones."""
