"""The acquisition engine on the detector control unit, and the contract that a camera fulfils.

- `camera`: the contract that a camera file in `devices/` implements, and its engine: threads, memory, pacing,
  numbering, the socket.
- `own_stream`: the engine of a detector that streams by itself.
- `remote`: the streamer's process, and both ends of its remote interface.
- `simulated`: control units, camserver, triggers, series without a camera.
- `light_streamer`: one file for control units of which nothing is known.
"""
