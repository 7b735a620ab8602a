"""The wire: STINS messages, their codec, and the state of a series.

Nothing here opens a socket, starts a thread or reads a clock: bytes go in, typed messages come
out, and the other way round.

- `messages`: what is said (`Header`, `Image`, `SeriesEnd`).
- `codec`: messages from and to the parts of a ZeroMQ message.
- `blobs`: what a frame's blob must look like, and how to unpack it.
- `series`: the state table that a sender of a series obeys, and its message numbers.
- `errors`: what can be wrong, and whose fault it is.
"""
