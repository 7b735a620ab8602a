"""What an existing Sardana lacks of Penstock: first compared, then written.

Everything else in it stays: other folders of its paths, other hooks, other elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import tango

from penstock.beamline.plan import running
from penstock.sardana import plugin
from penstock.stins.errors import UserError

Action = Literal["add", "change", "remove", "none"]


@dataclass(frozen=True)
class Target:
    """A Pool or a MacroServer of the database."""

    device: str
    alias: str
    server: str
    """Its device server, such as "Sardana/lab"."""
    runs: bool

    def __str__(self) -> str:
        named = f"{self.alias}, " if self.alias else ""
        return f"{self.device} ({named}{self.server})"


@dataclass(frozen=True)
class Change:
    """One thing, and what is to be done about it."""

    what: Literal["path", "hook", "detector", "pipeline"]
    name: str
    action: Action
    server: str
    """Device server that it belongs to."""
    before: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None
    """Values, where it has any."""
    blocked_by: str = ""
    """Why it cannot be done now."""
    do: Callable[[], object] = field(default=lambda: None, repr=False, compare=False)
    """Does it; raises `tango.DevFailed` or `UserError`."""


def find(database: tango.Database, kind: str, names: Sequence[str], option: str) -> list[Target]:
    """Return devices of the class "Pool" or "MacroServer": the named ones, or else the only one.

    Args:
        database: where they are registered.
        kind: the class.
        names: device names or aliases.
        option: of the command line, for the sentence.

    Raises:
        UserError: there is none, none of this name, or several and none is named.
        tango.DevFailed: the database does not answer.
    """
    there = [_target(database, device) for device in database.get_device_name("*", kind)]
    if not there:
        raise UserError(f"the database has no {kind}; is it your Sardana's?")
    listed = "; ".join(map(str, there))
    if not names and len(there) > 1:
        raise UserError(
            f"the database has {len(there)} of the class {kind}: {listed}. Name one: {option} "
            f"{there[0].alias or there[0].device}"
        )
    by_name = {each.device.lower(): each for each in there}
    by_name |= {each.alias.lower(): each for each in there if each.alias}
    unknown = [name for name in names if name.lower() not in by_name]
    if unknown:
        raise UserError(f"{unknown[0]} is not a {kind} in the database, which has: {listed}")
    return list(dict.fromkeys(by_name[name.lower()] for name in names)) if names else there


def compare_paths(
    database: tango.Database,
    target: Target,
    folders: Mapping[str, str],
    *,
    remove: bool = False,
    blocked_by: str = "",
) -> list[Change]:
    """Find out what is to be done to path properties.

    Args:
        database: which holds them.
        target: whose they are.
        folders: wanted folder of each property.
        remove: remove Penstock's folders.
        blocked_by: why nothing can be done now.
    """  # fmt: skip
    changes = []
    for name, folder in folders.items():
        before = tuple(database.get_device_property(target.device, [name])[name])
        after = _without(before) if remove else _with(before, folder)
        action: Action = "none" if before == after else "remove" if remove else "change" if before else "add"
        changes.append(
            Change(
                "path", f"{name} of {target.device}", action, target.server, before or None, after,
                blocked_by, _put(database, target.device, name, after),
            )
        )  # fmt: skip
    return changes


def pool_folders() -> dict[str, str]:
    """Properties of a Pool."""
    return {"PoolPath": str(plugin.CONTROLLERS)}


def macro_server_folders() -> dict[str, str]:
    """Properties of a MacroServer."""
    return {"MacroPath": str(plugin.MACROS), "RecorderPath": str(plugin.RECORDERS)}


def _put(database: tango.Database, device: str, name: str, values: tuple[str, ...]) -> Callable[[], None]:
    def put() -> None:
        if values:
            database.put_device_property(device, {name: list(values)})
        else:
            database.delete_device_property(device, name)

    return put


def _target(database: tango.Database, device: str) -> Target:
    try:
        alias = str(database.get_alias_from_device(device))
    except tango.DevFailed:  # it has none
        alias = ""
    server = database.get_device_info(device).ds_full_name
    return Target(device, alias, server, running(database, server))


def _with(values: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """Return the values with `folder` in the place of another installation's, or else at the end."""
    folders = [each for value in values for each in _parts(value)]
    ours = [each for each in folders if plugin.is_ours(each)]
    if ours == [folder]:
        return values
    if not ours:
        return (*values, folder)
    first = folders.index(ours[0])
    rest = [each for each in folders if each not in ours]
    return (*rest[:first], folder, *rest[first:])


def _without(values: tuple[str, ...]) -> tuple[str, ...]:
    folders = [each for value in values for each in _parts(value)]
    rest = tuple(each for each in folders if not plugin.is_ours(each))
    return values if len(rest) == len(folders) else rest


def _parts(value: str) -> list[str]:
    """Return the folders in a value; Sardana accepts several."""
    return [part for line in value.splitlines() for part in line.split(":") if part]
