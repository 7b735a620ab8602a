"""All changes to a Sardana, and carrying them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import tango

from penstock.sardana.registration import paths as registration
from penstock.sardana.registration.detectors import CLASS, compare_detector
from penstock.sardana.registration.elements import controllers, knows_class
from penstock.sardana.registration.hooks import compare_hooks
from penstock.sardana.registration.paths import Change, Target
from penstock.sardana.registration.pipelines import Pipeline, compare_pipeline
from penstock.stins.errors import UserError


@dataclass(frozen=True)
class Plan:
    """The changes, and the reasons against them."""

    entries: list[Change] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    """Running servers that have not read what the database has for them."""
    warnings: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    @property
    def changes(self) -> list[Change]:
        """Entries that can be written now."""
        return [entry for entry in self.entries if entry.action != "none" and not entry.blocked_by]

    @property
    def blocked(self) -> list[Change]:
        """Entries that cannot be written yet."""
        return [entry for entry in self.entries if entry.action != "none" and entry.blocked_by]


def compare(
    database: tango.Database, pools: list[Target], macro_servers: list[Target], detectors: Mapping[str, str],
    pipelines: Sequence[Pipeline] = (), *, remove: bool = False,
) -> Plan:  # fmt: skip
    """Find out what is to be done.

    Args:
        database: of all of them.
        pools: which get PoolPath; exactly one where there are detectors or pipelines.
        macro_servers: which get MacroPath, RecorderPath and the hooks.
        detectors: by name of the channel, the detector's Tango name.
        pipelines: whose results become channels.
        remove: remove Penstock instead; of named detectors and pipelines, their channels alone.

    Raises:
        tango.DevFailed: the database, a Pool or a MacroServer does not answer.
    """
    plan = Plan()
    channels: list[Change] = []
    for compare_one in (
        *(partial(compare_detector, database, pools[0], *each, remove=remove) for each in detectors.items()),
        *(partial(compare_pipeline, database, pools[0], each, remove=remove) for each in pipelines),
    ):
        try:
            channels += compare_one()
        except UserError as error:
            plan.refusals.append(str(error))
    if remove and channels:  # the rest is in use
        plan.entries.extend(channels)
        return plan
    for pool in pools:
        plan.entries.extend(
            registration.compare_paths(database, pool, registration.pool_folders(), remove=remove)
        )
        if not remove and pool.runs and not knows_class(pool, CLASS):
            plan.stale.append(pool.server)
    for target in macro_servers:
        hooks = compare_hooks(database, target, remove=remove)
        # A hook whose macro is gone would make every scan fail.
        blocked_by = next((hook.blocked_by for hook in hooks if hook.blocked_by), "") if remove else ""
        folders = registration.macro_server_folders()
        paths = registration.compare_paths(database, target, folders, remove=remove, blocked_by=blocked_by)
        plan.entries.extend([*hooks, *paths] if remove else [*paths, *hooks])
        if not remove and target.runs and any("does not know" in hook.blocked_by for hook in hooks):
            plan.stale.append(target.server)
    if remove and (left := controllers(database)):
        plan.warnings.append(
            f"{', '.join(left)}: these controllers of Penstock stay, and fail once their Pool has been "
            "restarted; remove them first, with --detector NAME or --pipeline NAME"
        )
    plan.entries.extend(channels)
    return plan


def apply(plan: Plan) -> int:
    """Carry out what can be done now; return the number of entries.

    Raises:
        tango.DevFailed, UserError: one is refused; those before it stay.
    """
    for change in plan.changes:
        change.do()
    return len(plan.changes)


def to_restart(plan: Plan) -> list[str]:
    """Return the servers that read their paths at their start, and are running with other ones."""
    changed = [entry.server for entry in plan.changes if entry.what == "path"]
    return sorted({*changed, *plan.stale})
