"""Recovery after a crash: which files were open, what is in them, and how a series goes on."""
