"""The acquisition engine on the detector control unit, and the contract that a camera fulfils.

- `camera`: the contract that a camera file in `devices/` implements.
- `settings`: the settings of a series, and the standard parameters of every detector.
- `engine`: threads, memory, pacing and numbering for one camera.
- `push_socket`: the PUSH socket; `series_sender`: a series over it.
- `remote`, `client`: both ends of the remote interface.
"""
