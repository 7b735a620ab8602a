"""What the windows show and what may be done in them, without Qt: also used by `penstock status --all`."""
