"""The live viewer: what a receiver or a file holds, on the screen.

Nothing here talks to the detector or to the data stream; the receiver's HTTP client is the only way in.

From there to the screen: `sources/` (what a frame comes from, the `follower`, and the `feed` with the newest
snapshot, in a thread), `view` (the widget, which puts all parts together), `plot/` (the plot, and its
`screen`: one frame after the other, as fast as they can be drawn) with `drawing/` (the picture). Around the
picture: `texts/`, and the tool bars of `actions/`; `past/`, `regions/` and `measure/`. What would take the
window too long runs in one of `threads`. `results/` is the same for what a pipeline has made.
"""
