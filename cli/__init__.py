"""The `penstock` command: one file per subcommand."""
