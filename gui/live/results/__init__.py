"""What a pipeline has made of a series, in the window of `penstock view`: curves, images, numbers.

In `sources/`, a pipeline over HTTP or its result file is asked in a thread by `feed`, which keeps what it has
in `held`, and hands over the newest `snapshot`. `pages/` draws values; `view` is the widget.
"""
