"""Attributes of a detector as forms show them: label, unit, what may be typed; and Metadata."""
