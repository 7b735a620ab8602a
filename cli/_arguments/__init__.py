"""What options say: numbers, addresses, files, and what simulated control units share."""
