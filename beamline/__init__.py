"""A beamline's devices: its file, their registration, and a demonstration with all of them."""
