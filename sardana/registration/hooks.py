"""The hooks det_begin and det_end of a MacroServer: installed and removed through one of its Doors."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import tango

from penstock.sardana.door import Door, MacroTimeout
from penstock.sardana.registration.paths import Change, Target
from penstock.stins.errors import UserError

HOOKS = (("det_begin", "pre-scan"), ("det_end", "post-scan"))
"""Macro, and where it runs."""


def compare_hooks(database: tango.Database, target: Target, *, remove: bool = False) -> list[Change]:
    """Find out which hooks are to be installed, or removed.

    A hook is not installed before its MacroServer knows the macro: until then every scan would fail.
    """
    if not target.runs:
        waits = f"{target.server} is not running"
        return [_change(target, hook, "remove" if remove else "add", waits) for hook in HOOKS]
    proxy = tango.DeviceProxy(target.device)
    there = _installed(proxy)
    known = set(proxy.MacroList or ())
    door, why = _door(database, target)
    changes = []
    for hook in HOOKS:
        if (hook in there) != remove:
            changes.append(_change(target, hook, "none"))
            continue
        blocked_by = why if remove or hook[0] in known else f"{target.server} does not know {hook[0]} yet"
        words = ("udefgh" if remove else "defgh", *hook)
        changes.append(_change(target, hook, "remove" if remove else "add", blocked_by, _run(door, *words)))
    return changes


def _change(
    target: Target, hook: tuple[str, str], action: str, blocked_by: str = "",
    do: Callable[[], object] = lambda: None,
) -> Change:  # fmt: skip
    name = f"hook {hook[0]} ({hook[1]}) of {target.device}"
    return Change("hook", name, action, target.server, blocked_by=blocked_by, do=do)  # type: ignore[arg-type]


def _installed(macro_server: tango.DeviceProxy) -> set[tuple[str, str]]:
    """Return the hooks in the MacroServer's environment, which Sardana sends as a pickle."""
    environment = pickle.loads(macro_server.Environment[1])["new"]
    return {(macro, place) for macro, places in environment.get("_GeneralHooks", ()) for place in places}


def _door(database: tango.Database, target: Target) -> tuple[str, str]:
    """Return a Door that can run a macro now; else why there is none."""
    busy = ""
    for name in database.get_device_name("*", "Door"):
        held = database.get_device_property(name, ["MacroServerName"])["MacroServerName"]
        if not held or held[0].lower() not in (target.device.lower(), target.alias.lower()):
            continue
        try:
            state = tango.DeviceProxy(name).State()
        except tango.DevFailed:
            continue
        if state in (tango.DevState.ON, tango.DevState.ALARM):
            return name, ""
        busy = f"a macro is running at {name}"
    return "", busy or f"no Door of {target.device} is running"


def _run(door: str, *command: str) -> Callable[[], None]:
    def run() -> None:
        with Door(door) as opened:
            try:
                ended = opened.run(*command)
            except MacroTimeout as error:
                raise UserError(str(error)) from error
        if ended.ending != "finish":
            raise UserError(f"{' '.join(command)}: {ended.error or ended.said()}")

    return run
