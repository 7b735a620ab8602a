"""The live viewer: what a receiver or a file holds, on the screen.

Nothing here talks to the detector or to the data stream; the receiver's HTTP client is the only way in.

From there to the screen: `source` (what a frame comes from: `receiver_source`, `file_source`), `follower` and
`feed` (the newest snapshot, in a thread), `view` (the widget, which puts all parts together), `screen` (one
frame after the other, as fast as they can be drawn), `image_plot` with `drawing/` (the picture). Around the
picture: `pages`, `caption`, `readings`, `status_line`, the tool bars with `actions/`; `past/`, `regions/` and
`measure/`. What would take the window too long runs in a `waiting_thread`, mostly a `worker`.
"""
