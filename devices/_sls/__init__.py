"""PSI's detectors, controlled through slsdet, the client of the SLS detector software.

`client` and its child process `worker` are the only files that touch slsdet; `connection` sets up modules
and receivers, `parameters` is the table of settings, `modes` that of trigger modes, `acquisition` runs one
series.
"""
