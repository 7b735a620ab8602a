"""The `penstock` command: one file per subcommand.

What several share is in `_arguments` (what options say), `_output`, `_status` (what is said of services and
series) and `_recordings`.
"""
