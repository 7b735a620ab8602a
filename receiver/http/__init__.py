"""The HTTP interface of the receiver: status, control, metrics, and frames for the live view."""
