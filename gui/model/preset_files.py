"""Files of presets: the user's own folder, and folders that a site shares."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.gui.model.preset import BadPreset, Preset, decode, encode

VARIABLE = "PENSTOCK_PRESETS"
"""Environment variable with the folders of the site, in the form of PATH."""
SUFFIX = ".json"
LONGEST_NAME = 100


@dataclass(frozen=True)
class Found:
    """A file with a preset, which was not read yet."""

    name: str
    folder: Path

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.folder / f"{self.name}{SUFFIX}"


@dataclass(frozen=True)
class Listed:
    """One folder with what is in it."""

    folder: Path
    own: bool
    """It is the user's own."""
    writable: bool
    presets: tuple[Found, ...] = ()
    problem: str = ""
    """Why it cannot be listed; "" also for a folder of the user's that does not exist yet."""


@dataclass(frozen=True)
class PresetFolders:
    """Where presets are; every method may wait for a slow disk."""

    own: Path
    sites: tuple[Path, ...] = ()

    @staticmethod
    def of(environment: Mapping[str, str], more: Iterable[Path] = ()) -> PresetFolders:
        """Return the folders that an environment names.

        Args:
            environment: `os.environ`.
            more: folders of the site that stand before those.
        """
        config = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "~")) / ".config")
        named = [Path(each) for each in environment.get(VARIABLE, "").split(os.pathsep) if each]
        sites = dict.fromkeys(each.expanduser().absolute() for each in (*more, *named))
        return PresetFolders(Path(config).expanduser() / "penstock" / "presets", tuple(sites))

    def list(self) -> list[Listed]:
        """Return all folders, the user's own first."""
        return [_listed(folder, own=folder == self.own) for folder in (self.own, *self.sites)]

    def save(self, preset: Preset, name: str, folder: Path, *, overwrite: bool) -> Path:
        """Write a preset, at once or not at all; its file.

        Raises:
            BadPreset: the name is none, there is such a file, or it cannot be written.
        """
        found = Found(checked_name(name), folder)
        text = encode(replace(preset, saved=time.strftime("%Y-%m-%d %H:%M:%S")))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not overwrite and found.path.exists():
                raise BadPreset(f'there is a preset "{found.name}" in {folder} already')
            draft = folder / f".{found.name}.{os.getpid()}"
            draft.write_text(text, encoding="utf-8")
            draft.replace(found.path)
        except OSError as error:
            raise BadPreset(f"{found.path} cannot be written: {error.strerror or error}") from error
        return found.path


def read(found: Found) -> Preset:
    """Return the preset of a file.

    Raises:
        BadPreset: it cannot be read, or is none.
    """
    try:
        return decode(found.path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadPreset(f"{found.path} cannot be read: {error.strerror or error}") from error
    except (BadPreset, UnicodeDecodeError) as error:
        raise BadPreset(f"{found.path} cannot be used: {error}") from error


def delete(found: Found) -> None:
    """Remove a file.

    Raises:
        BadPreset: it cannot be removed.
    """
    try:
        found.path.unlink()
    except OSError as error:
        raise BadPreset(f"{found.path} cannot be deleted: {error.strerror or error}") from error


def checked_name(name: str) -> str:
    """Return the name of a preset, which is that of its file.

    Raises:
        BadPreset: it cannot be one.
    """
    name = name.strip()
    if not name:
        raise BadPreset("a preset needs a name")
    if "/" in name or "\0" in name or name.startswith("."):
        raise BadPreset(f'"{name}" is no name of a preset: leave out "/", and a point at the beginning')
    if len(name.encode()) > LONGEST_NAME:
        raise BadPreset(f"the name is too long: {LONGEST_NAME} letters at most")
    return name


def _listed(folder: Path, *, own: bool) -> Listed:
    try:
        files = sorted(folder.glob(f"*{SUFFIX}"), key=lambda file: file.name.casefold())
        names = tuple(Found(file.stem, folder) for file in files if not file.name.startswith("."))
        there = folder.is_dir()
    except OSError as error:
        return Listed(folder, own, writable=False, problem=f"{folder}: {error.strerror or error}")
    if not there:
        return Listed(folder, own, writable=own, problem="" if own else f"{folder} does not exist")
    return Listed(folder, own, os.access(folder, os.W_OK), names)
