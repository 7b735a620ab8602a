"""The simulated control unit of a DECTRIS detector: SIMPLON, streams V1 and V2, triggers, faults."""
