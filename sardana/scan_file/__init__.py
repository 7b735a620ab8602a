"""What the recorder makes of a scan: links to the frames, and plots that viewers find."""
