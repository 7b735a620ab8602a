"""Bridges to control systems and message brokers of others, each a process of its own."""
