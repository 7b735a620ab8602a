"""What tests and demonstrations take for real: control units, camserver, triggers, patterns."""
