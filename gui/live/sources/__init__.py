"""Where frames and status come from, a receiver or a file, and the thread that follows them."""
