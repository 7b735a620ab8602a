"""Why Arm, or another command, is refused."""

from __future__ import annotations


class ArmRefused(Exception):
    """Arm was refused: `kind` is stable across versions, the sentence says what to change."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def not_idle(sentence: str) -> ArmRefused:
    """Return the refusal for every state but ON, with the sentence of that state."""
    return ArmRefused("not_idle", f"Arm is possible only in the state ON; now: {sentence}")
