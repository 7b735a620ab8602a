"""Frames and results for EPICS clients: NTNDArray, NTScalar and NTScalarArray over pvAccess."""
