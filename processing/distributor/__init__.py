"""Which worker gets which frames, what became of each, and where their results go; no user code."""
