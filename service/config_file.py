"""The file of a service's configuration: YAML that becomes a typed model, with every error in a sentence.

msgspec finds the first error only; `find` goes on behind it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from penstock.service import yaml_text
from penstock.service.setting_errors import ANY_KEY, Words, sentence, steps
from penstock.stins.errors import UserError

T = TypeVar("T", bound=Any)
MOST_PORT = 65535
"""The highest port."""
RECEIVERS = "receivers"
"""The first key of a receivers' configuration, which is often given in place of a service's own file."""


class ConfigFileError(UserError):
    """A configuration file cannot be used; the sentences name the file, the key and the remedy."""

    def __init__(self, *sentences: str) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = list(sentences)


@dataclass(frozen=True, kw_only=True)
class FileKind(Generic[T]):
    """What the files of one kind of service have in them, and how errors speak of it."""

    model: type[T]
    """Type of the whole file, with a field `name`."""
    service: str
    """Such as "bridge"."""
    example: str
    """Name of such a file, such as "epics.yaml"."""
    line: str
    """One of its lines, such as "prefix: LAB1"."""
    http: str
    """Address of its HTTP API, such as "127.0.0.1:5200"."""
    program: str
    """The command that takes it, such as "penstock epics"."""
    texts: Mapping[str, str]
    """Explanation of settings that are plain text; see `Words`."""
    needed: Mapping[str, Any] = field(default_factory=dict)
    """What stands for a required setting in the search for further errors; see `find`."""
    contradictions: Callable[[T, Mapping[Any, Any]], Iterable[str]] = lambda config, raw: ()
    """Yields what is wrong beside the single values. The content of the file tells what was given, also where
    it was wrong."""
    error: type[ConfigFileError] = ConfigFileError

    @property
    def words(self) -> Words:
        """What errors say beside the settings themselves."""
        common = {"name": "at most 64 letters, digits, _ and -", "http": f"HOST:PORT, such as {self.http}"}
        return Words(schema=f"`{self.program} --schema`", texts={**common, **self.texts})

    def load(self, path: str | Path) -> T:
        """Read a file; the configuration's name, if it has none, is that of the file.

        Raises:
            ConfigFileError: it cannot be read, is not YAML, or has wrong or unknown keys: all of them.
        """
        config = self.parse(self.read(path), str(path))
        return msgspec.structs.replace(config, name=config.name or name_of(path))

    def read(self, path: str | Path) -> dict[Any, Any]:
        """Return the content of a file.

        Raises:
            ConfigFileError: it cannot be read, is not YAML, or has no keys.
        """
        try:
            raw = yaml_text.read_file(path, f"give the file of a {self.service}, such as {self.example}")
        except ValueError as error:
            raise self.error(str(error)) from error
        if isinstance(raw, dict) and RECEIVERS in raw:
            raise self.error(
                f"{path} is the configuration of receivers; give the file of a {self.service}, such as "
                f"{self.example}, or the name of one of them with --config {path}"
            )
        if not isinstance(raw, dict):
            raise self.error(f"{path}: a {self.service} has lines of KEY: VALUE, such as {self.line}")
        return raw

    def parse(self, raw: Mapping[Any, Any], origin: str) -> T:
        """Check what has already been read; errors name `origin`.

        Raises:
            ConfigFileError: wrong or unknown keys: all of them.
        """
        found, config = self.errors(raw, origin)
        if found or config is None:
            raise self.error(*found)
        return config

    def errors(self, raw: Mapping[Any, Any], origin: str) -> tuple[list[str], T | None]:
        """Return every error as a sentence that names `origin`, and the configuration as `find` does."""
        found, config = find(raw, self.model, "", self.words, self.needed)
        if config is not None:
            found += self.contradictions(config, raw)
        return [f"{origin}: {each}" for each in found], config

    def wrong_http(self, http: str) -> str:
        """Return what is wrong with the address of the HTTP API, in a sentence; or ""."""
        host, _, port = http.rpartition(":")
        if "://" in http or not host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > MOST_PORT:
            return f'http is "{http}"; give HOST:PORT, such as {self.http}'
        return ""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the file, for editors and for the reference."""
        return msgspec.json.schema(self.model)


def name_of(path: str | Path) -> str:
    """Return the name of a service by that of its file."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", Path(path).stem)[:64]


def twice(names: Sequence[str]) -> str:
    """Return the first name that comes a second time; "" if none does."""
    return next((each for place, each in enumerate(names) if each in names[:place]), "")


def find(
    raw: Any, model: type[T], name: str, words: Words, needed: Mapping[str, Any]
) -> tuple[list[str], T | None]:
    """Return every error as a sentence, and what is without errors; `None` if nothing is.

    What is wrong is taken out, and the rest looked at again.

    Args:
        raw: content of the file, or a part of it.
        model: the type that it should have.
        name: name of the part, such as "receiver eiger-1"; "" for the whole file.
        words: of this kind of file.
        needed: what stands for a required setting that is missing or wrong, by its dotted name.
    """
    rest, found, taken_out = copy.deepcopy(raw), list[str](), set[str]()
    while True:
        try:
            return found, msgspec.convert(rest, model)
        except msgspec.ValidationError as error:
            said = str(error)
            path, is_missing = _place(said)
            if not is_missing or _dotted(path) not in taken_out:
                found.append(sentence(rest, model, said, name, words))
            if is_missing and _dotted(path) not in needed:
                path = path[:-1]  # it cannot be without
            taken_out.add(_dotted(path))
            if not path or not _take_out(rest, path, needed.get(_dotted(path))):
                return found, None


def _place(said: str) -> tuple[list[str | int], bool]:
    """Return which setting an error is about, and whether it is missing."""
    what, _, where = said.partition(" - at `")
    if where.startswith("key` in `"):
        return [], False
    path = steps(where.rstrip("`"))
    if ANY_KEY in path:  # of a mapping whose keys are free msgspec does not name the one
        path = path[: path.index(ANY_KEY)]
    if unknown := re.match(r"Object contains unknown field `(.*)`$", what):
        return [*path, unknown[1]], False
    if missing := re.match(r"Object missing required field `(.*)`$", what):
        return [*path, missing[1]], True
    return path, False


def _take_out(rest: Any, path: list[str | int], stands: Any) -> bool:
    """Take a setting out, or put what stands for it; return false if it is not there."""
    parent: Any = rest
    last: Any = path[-1]
    for step in path[:-1]:
        parent = parent[step]
    if stands is not None and isinstance(parent, dict) and parent.get(last) != stands:
        parent[last] = stands
    elif isinstance(parent, list) or last in parent:
        del parent[last]
    else:
        return False
    return True


def _dotted(path: list[str | int]) -> str:
    return ".".join(map(str, path))
