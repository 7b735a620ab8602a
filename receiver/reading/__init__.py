"""Files read again: ours of every layout, those of other programs, as frames."""
