"""The control panel's widgets: each draws a snapshot of `gui.model` and hands on what the user does."""
