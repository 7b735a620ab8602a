"""The process of the HTTP API: starts the data process, watches it, and checks what it is asked."""
