"""Distribution of frames among workers: what became of each, and where the results go; no user code."""
