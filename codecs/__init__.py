"""Pixels as they are sent: types, packing by libraries or in 12 bits, the value of absent ones, and what the
header of a CBF says of them."""
