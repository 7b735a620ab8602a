"""PSI's detectors, controlled through slsdet, the client of the SLS detector software.

`client` and its child process `worker` are the only files that touch slsdet; `connection` sets up modules
and receivers, `parameters` has the tables of settings, `modes` that of trigger modes, `acquisition` runs one
series, `names` has what it is called in the stream; `detector` is the class of all models.
"""
