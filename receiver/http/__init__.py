"""What the receiver says over HTTP, and shows: status, metrics, frames for the eye."""
