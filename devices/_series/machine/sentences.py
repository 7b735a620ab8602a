"""Parts of sentences."""

from __future__ import annotations

from penstock.streamer.remote.client import StreamerStatus


def sentence(text: str) -> str:
    """Return the text with a full stop."""
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."


def capital(text: str) -> str:
    """Return the text with a capital letter."""
    return text[:1].upper() + text[1:]


def remedied(text: str) -> str:
    """Return the text with the remedy for FAULT, unless it mentions Reset itself."""
    text = sentence(text)
    return text if "Reset" in text else f"{text} Call Reset."


def warning_of(status: StreamerStatus | None) -> str:
    """Return what the streamer warns of, as a sentence; "" for nothing."""
    return sentence(status.warning) if status is not None and status.warning else ""
