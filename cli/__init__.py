"""The `penstock` command: one file a subcommand."""
