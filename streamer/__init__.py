"""The acquisition engine on the detector control unit, and the contract that a camera fulfils.

- `camera`: what a camera file in `devices/` implements, and nothing more.
- `settings`: what a series is asked for, and the standard parameters of every detector.
- `engine`: threads, memory, pacing, numbering: drives one camera.
- `push_socket`: the PUSH socket; `series_sender`: a series over it.
- `remote`, `client`: the small remote interface, both ends.
"""
