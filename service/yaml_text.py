"""A text of YAML 1.2, read by ruamel.yaml, which refuses a key that is given twice in one mapping."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import YAMLError

TWICE = re.compile(r'found duplicate key "(.*?)" with value', re.DOTALL)


def read_file(path: str | Path, remedy: str) -> Any:
    """Return the content of a YAML file.

    Args:
        path: of the file.
        remedy: what to do if it cannot be read.

    Raises:
        ValueError: it cannot be read, or is not YAML; the sentence names the file, and the line.
    """
    try:
        return read(Path(path).read_text())
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; {remedy}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read(text: str) -> Any:
    """Return the content of a YAML text.

    Raises:
        ValueError: it is not YAML, or a key is given twice; the sentence gives the line, as editors count.
    """
    try:
        return YAML(typ="safe", pure=True).load(text)
    except DuplicateKeyError as error:
        key = TWICE.match(error.problem or "")
        what = f'the key "{key[1] if key else "?"}" is given twice in one mapping'
        raise ValueError(f"{_place(error)}{what}; leave one out, or give it another name") from error
    except YAMLError as error:
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        colon = "; a text that ends with a colon needs quotes" if "mapping values" in problem else ""
        raise ValueError(f"it is not YAML: {_place(error)}{problem}{colon}") from error


def _place(error: YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
