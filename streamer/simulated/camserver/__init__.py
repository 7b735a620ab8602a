"""A simulated camserver, with a PILATUS3 behind it: commands, exposures, CBF files, triggers, faults.

References cited in the modules are those of `penstock.devices._camserver`.
"""
