"""What clients put into PREFIX:Command, carried out by the pipeline's HTTP API.

Parameters may have a word in front of them, since p4p and pvput take a text that begins with { for fields.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.processing.client import NoAnswer, PipelineClient

WORDS = 'reset, stop, stop REASON, or parameters {"NAME": VALUE}'


class Commands:
    """The commands of one pipeline.

    Args:
        client: of the pipeline.
    """

    def __init__(self, client: PipelineClient) -> None:
        self._client = client
        self.carried_out = self.refused = 0

    def take(self, text: str) -> None:
        """Carry a command out.

        Raises:
            ValueError: it is none, or the pipeline refuses it or does not answer; a sentence.
        """
        try:
            self._do(text.strip())
        except (ValueError, NoAnswer) as error:
            self.refused += 1
            raise ValueError(str(error)) from error
        self.carried_out += 1

    def _do(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        if text == "reset":
            self._client.reset()
        elif word == "stop":
            self._client.stop(rest.strip() or "stopped by an EPICS client")
        elif word == "parameters":
            self._client.change(_object(rest))
        else:
            self._client.change(_object(text))


def _object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ValueError(f'"{text[:60]}" is no command; give {WORDS}') from error
