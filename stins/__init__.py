"""The STINS format: messages, their codec, and the state of a series.

Nothing here opens a socket, starts a thread or reads a clock: bytes are decoded to typed messages, and
messages
encoded to bytes.

- `messages`: the messages (`Header`, `Image`, `SeriesEnd`).
- `codec`: messages from and to the parts of a ZeroMQ message.
- `blobs`: the layout of a frame's blobs, and their check.
- `series`: the state table of a sender, and its message numbers.
- `errors`: errors of the peer and of the caller.
"""
