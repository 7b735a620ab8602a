"""The Tango devices of receivers and pipelines."""
