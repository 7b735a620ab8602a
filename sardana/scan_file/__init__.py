"""What the recorder adds to a scan: links to the frames, and plots that viewers find."""
