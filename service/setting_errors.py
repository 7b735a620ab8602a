"""Errors of a configuration in the user's words: the place, the value, and the values that are allowed.

msgspec finds the first error, and describes it by types and by a path.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect

FEW = 8
"""Most settings that an error lists; if there are more, it suggests the closest one."""
LONGEST = 60
"""Most characters of a value that an error quotes."""
UNBOUNDED = 2**31 - 1
"""Limits from here on are not worth naming in an error."""
ANY_KEY = "..."
"""How msgspec writes a key of a mapping."""
NUMBERS = {"int": "a whole number", "float": "a number"}
PATTERNS = {
    "tcp://": '"tcp://HOST:PORT" or "ipc://PATH", with a PORT up to 65535 and brackets around an IPv6 address'
}
"""Explanation of each pattern, by its beginning."""


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What errors of one kind of file say beside the settings themselves."""

    schema: str
    """Command that prints all settings."""
    removed: Mapping[str, str] = {}
    """Settings of earlier versions, and what to do instead."""
    texts: Mapping[str, str] = {}
    """Explanation of settings that are plain text."""


def sentence(raw: Any, model: type, said: str, name: str, words: Words) -> str:
    """Return what is wrong with `raw`, as a sentence with the remedy.

    Args:
        raw: the content of the file, or a part of it.
        model: the type that it should have.
        said: msgspec's error message.
        name: name of the part, such as "receiver eiger-1"; "" for the whole file.
        words: of this kind of file.
    """
    what, _, where = said.partition(" - at `")
    path: list[str | int] = []
    value, kind = raw, inspect.type_info(model)
    for step in steps(where.rstrip("`")):
        if step == ANY_KEY:
            step = next((key for key, each in value.items() if not isinstance(each, str)), step)
        kind = _below(kind, step, value)
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
        path.append(step)
    place = _text(path)
    before = f"{name}: " if name else ""
    if unknown := re.match(r"Object contains unknown field `(.*)`$", what):
        return f"{before}{_unknown(place, kind, value, unknown[1], words)}"
    if missing := re.match(r"Object missing required field `(.*)`$", what):
        key = missing[1]
        dotted = f"{place}.{key}" if place else key
        wanted = words.texts.get(dotted) or _allowed(_below(kind, key, value), words)
        return f"{before}{dotted} is missing; give {wanted}"
    if where.startswith("key` in `"):
        key = next(key for key in value if not isinstance(key, str))
        return f'{before}{place or "it"} has the name {key}, which is no text; write "{key}": in quotes'
    if not re.match(r"Expected|Invalid", what):
        return f"{before}{f'{place}: ' if place and place not in what else ''}{what}"
    most = getattr(kind, "le", None)
    beyond = isinstance(value, float | int) and most is not None and most >= UNBOUNDED and not value <= most
    limit = f", {most:g} at most" if beyond else ""
    allowed = words.texts.get(place) or _allowed(kind, words)
    return f"{before}{place or 'the entry'} is {_quoted(value)}; give {allowed}{limit}"


def _unknown(place: str, kind: inspect.Type, value: Any, key: str, words: Words) -> str:
    struct = _struct(kind, value)
    fields = () if struct is None else struct.fields
    known = [field.encode_name for field in fields]
    meant = difflib.get_close_matches(key, known, 1, 0.75)
    below = [
        field.encode_name
        for field in fields
        if isinstance(field.type, inspect.StructType)
        and key in (each.encode_name for each in field.type.fields)
    ]
    if key in words.removed and struct is not None and not place:
        remedy = words.removed[key]
    elif below:
        remedy = f"write it below {below[0]}"
    elif meant:
        remedy = f"did you mean {meant[0]}?"
    elif len(known) <= FEW:
        remedy = f"there is {', '.join(known)}" if known else "leave it out: there is none"
    else:
        remedy = f"{words.schema} has what there is"
    return f'{f"{place} has" if place else "there is"} no setting "{key}"; {remedy}'


def steps(where: str) -> list[str | int]:
    """Return msgspec's path, such as "$.forward[0].every", as keys and indices."""
    found = re.findall(r"\[(\.\.\.|\d+)\]|\.([^.\[]+)", where)
    return [key or (ANY_KEY if place == ANY_KEY else int(place)) for place, key in found]


def _text(path: list[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _struct(kind: inspect.Type, value: Any) -> inspect.StructType | None:
    """Return the struct type that `value` was meant to be: the one of its tag, if there are several."""
    if isinstance(kind, inspect.StructType):
        return kind
    if isinstance(kind, inspect.UnionType) and isinstance(value, Mapping):
        for each in kind.types:
            if isinstance(each, inspect.StructType) and value.get(each.tag_field) == each.tag:
                return each
    return None


def _below(kind: inspect.Type, step: str | int, value: Any) -> inspect.Type:
    if isinstance(kind, inspect.VarTupleType | inspect.ListType) and isinstance(step, int):
        return kind.item_type
    if isinstance(kind, inspect.DictType):
        return kind.value_type
    if isinstance(kind, inspect.UnionType) and isinstance(step, int):
        lists = [each for each in kind.types if isinstance(each, inspect.VarTupleType | inspect.ListType)]
        return lists[0].item_type if lists else inspect.AnyType()
    if isinstance(kind, inspect.UnionType) and _struct(kind, value) is None:
        tags = [
            each.tag for each in kind.types if isinstance(each, inspect.StructType) and each.tag is not None
        ]
        return inspect.LiteralType(tuple(tags))  # the tag itself is what is wrong
    struct = _struct(kind, value)
    fields = () if struct is None else struct.fields
    return next((field.type for field in fields if field.encode_name == step), inspect.AnyType())


def _allowed(kind: inspect.Type, words: Words) -> str:
    match kind:
        case inspect.Metadata():
            return _allowed(kind.type, words)
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() | inspect.FloatType():
            return _number(kind)
        case inspect.LiteralType():
            return _one_of([str(value) for value in kind.values])
        case inspect.StrType():
            known = (text for start, text in PATTERNS.items() if kind.pattern and start in kind.pattern)
            return next(known, "text")
        case inspect.VarTupleType() | inspect.ListType():
            least = " with one entry at least" if kind.min_length else ""
            if isinstance(kind.item_type, inspect.StructType):
                return f"a list of entries, each with {_allowed(kind.item_type, words)}"
            return f"a list{least}, each {_allowed(kind.item_type, words)}"
        case inspect.DictType():
            return "lines of NAME: VALUE"
        case inspect.StructType():
            return f"its settings: {', '.join(field.encode_name for field in kind.fields[:FEW])}"
        case inspect.UnionType():
            tags = [str(each.tag) for each in kind.types if isinstance(each, inspect.StructType)]
            if tags:
                return f"{{type: NAME, …}} of {_one_of(tags)}"
            return _one_of([_allowed(each, words) for each in _worth_telling(kind)])
    return f"what {words.schema} has for it"


def _worth_telling(kind: inspect.UnionType) -> list[inspect.Type]:
    """Return the types that a value may have, except those that another one includes."""
    kinds = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    if any(isinstance(each, inspect.FloatType) for each in kinds):
        kinds = [each for each in kinds if not isinstance(each, inspect.IntType)]
    return sorted(kinds, key=lambda each: isinstance(each, inspect.VarTupleType | inspect.ListType))


def _number(kind: inspect.IntType | inspect.FloatType) -> str:
    word = NUMBERS["int" if isinstance(kind, inspect.IntType) else "float"]
    if kind.ge is not None and kind.le is not None and kind.ge <= -UNBOUNDED and kind.le >= UNBOUNDED:
        return "a finite number"
    most = kind.le if kind.le is not None and kind.le < UNBOUNDED else None
    if kind.gt is not None:
        limits = f"above {kind.gt:g}"
    elif kind.ge is not None:
        limits = f"from {kind.ge:g}"
    else:
        limits = ""
    if most is not None:
        return f"{word} {limits} to {most:g}" if limits else f"{word} up to {most:g}"
    return f"{word} {limits}{' on' if kind.ge is not None else ''}".rstrip()


def _one_of(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def _quoted(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, Mapping):
        return "lines of NAME: VALUE"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    text = str(value)
    if isinstance(value, str | bool):
        text = json.dumps(value, ensure_ascii=not text.isprintable())
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"
