"""The receiver: from a detector's stream to NeXus files, consumers and a live view."""
