"""Forwarding: the same STINS messages, sent on to consumers; or references to frames in shared memory."""
