"""Parameters that change while a pipeline runs: all workers use them, or none does."""

from __future__ import annotations

from penstock.processing.distributor.versions import Versions


def test_a_change_holds_once_all_have_prepared_it() -> None:
    versions = Versions({"a": 1, "b": 2})
    change = versions.begin({"b": 3}, [1, 2])
    assert (change.number, change.version, change.values) == (2, 2, {"a": 1, "b": 3})
    versions.answered(1, 2)
    assert versions.settled() is None and versions.version == 1
    versions.answered(2, 2)
    assert versions.settled() is change and change.acknowledged == [1, 2]
    assert (versions.version, versions.values) == (2, {"a": 1, "b": 3})


def test_one_refusal_is_enough_and_changes_nothing() -> None:
    versions = Versions({"a": 1})
    change = versions.begin({"a": -1}, [1, 2, 3])
    versions.answered(1, 2)
    versions.answered(2, 2, "a is negative")
    assert versions.settled() is change and change.refused == {2: "a is negative"}
    assert (versions.version, versions.values) == (1, {"a": 1})
    again = versions.begin({"a": 5}, [1])
    assert (again.number, again.version) == (3, 2), "what was refused leaves no gap"
    versions.answered(1, 2)  # late: about the change before
    assert versions.settled() is None
    versions.answered(1, 3)
    assert versions.settled() is again and (versions.version, versions.number) == (2, 3)
    assert (versions.version_of(1), versions.version_of(3)) == (1, 2)
    assert versions.begin({}, []).version == 3


def test_nobody_waits_for_a_worker_that_is_gone_and_one_that_comes_is_asked() -> None:
    versions = Versions({})
    versions.begin({"a": 1}, [1, 2])
    versions.gone(1)
    versions.asked(3)
    versions.answered(2, 2)
    assert versions.settled() is None
    versions.answered(3, 2)
    assert versions.settled() is not None and versions.version == 2


def test_a_change_that_nobody_has_checked_does_not_hold() -> None:
    versions = Versions({})
    versions.begin({"a": 1}, [1])
    versions.gone(1)
    change = versions.settled()
    assert change is not None and not change.acknowledged and versions.version == 1
