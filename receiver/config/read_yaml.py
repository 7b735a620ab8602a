"""A text of YAML 1.2, read by ruamel.yaml, which refuses a key that stands twice in a mapping."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, DuplicateKeyError, SafeConstructor
from ruamel.yaml.error import YAMLError

TWICE = re.compile(r'found duplicate key "(.*?)" with value', re.DOTALL)


class _Constructor(SafeConstructor):
    """ruamel.yaml's, which takes escapes that make half a character, and no file name can hold."""

    def construct_scalar(self, node: Any) -> Any:
        value = super().construct_scalar(node)
        try:
            str(value).encode()
        except UnicodeEncodeError:
            raise ConstructorError(
                problem="the text has half a character (\\ud800 to \\udfff)", problem_mark=node.start_mark
            ) from None
        return value


def read(text: str) -> Any:
    """What a YAML text says.

    Raises:
        ValueError: it is not YAML, or a key stands twice in a mapping; the sentence has the line, as editors
            count.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Constructor
    try:
        return yaml.load(text)
    except DuplicateKeyError as error:
        key = TWICE.match(error.problem or "")
        what = f'the key "{key[1] if key else "?"}" stands twice in one mapping'
        raise ValueError(f"{_place(error)}{what}; leave one out, or give it another name") from error
    except YAMLError as error:
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise ValueError(f"it is not YAML: {_place(error)}{problem}") from error


def _place(error: YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
