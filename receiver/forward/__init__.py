"""Forwarding: the same STINS messages, sent on to consumers."""
