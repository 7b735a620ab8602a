"""YAML in which a key that stands twice is an error: YAML's own readers silently take the last one."""

from __future__ import annotations

from typing import Any

import yaml


class DuplicateKey(Exception):
    """A key stands twice in one mapping; the sentence names it and both lines, counted from 1."""


class UniqueKeyLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which refuses a mapping with a key that stands twice."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A mapping as it was written. Its merges (`<<`) are not resolved yet: what they bring in may be
        written again, which is what they are for.

        Raises:
            DuplicateKey: a key stands twice.
        """
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            line, first = key.start_mark.line + 1, lines.get((key.tag, key.value))
            lines[key.tag, key.value] = line
            if first is not None:
                where = f"lines {first} and {line}" if first != line else f"line {line}"
                raise DuplicateKey(
                    f'the key "{key.value}" stands twice, in {where}; leave one out, or give it another name'
                )
        return node

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        """A text, as it was written.

        Raises:
            yaml.MarkedYAMLError: an escape makes half a character, which no file name can hold.
        """
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        try:
            node.value.encode()
        except UnicodeEncodeError:
            raise yaml.MarkedYAMLError(
                problem="the text has half a character (\\ud800 to \\udfff)", problem_mark=node.start_mark
            ) from None
        return node


def load(text: str) -> object:
    """What a YAML text says.

    Raises:
        DuplicateKey: a key stands twice in one mapping.
        yaml.YAMLError: it is not YAML.
    """
    return yaml.load(text, UniqueKeyLoader)  # the safe loader, but for the keys
