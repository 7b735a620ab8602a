"""The state table and its projections."""

from __future__ import annotations

import itertools

import pytest
import tango

from penstock.devices._series.machine.states import (
    ACTIVE,
    RECEIVER_TANGO_STATE,
    TABLE,
    TANGO_STATE,
    Change,
    SeriesState,
)  # fmt: skip
from penstock.receiver.process.states import State as ReceiverState
from penstock.stins.table import IllegalEvent


def test_every_series_state_has_a_tango_state() -> None:
    assert set(TANGO_STATE) == set(SeriesState)
    assert all(hasattr(tango.DevState, name) for name in TANGO_STATE.values())


def test_every_receiver_state_has_a_tango_state() -> None:
    assert set(RECEIVER_TANGO_STATE) == {str(state) for state in ReceiverState}


def test_no_series_looks_finished_before_it_is() -> None:
    # Clients take ON for the end.
    assert all(TANGO_STATE[state] != "ON" for state in ACTIVE)


@pytest.mark.parametrize(
    "pair", [p for p in itertools.product(SeriesState, Change) if p not in TABLE], ids=str
)
def test_what_the_table_does_not_have_is_refused(pair: tuple[SeriesState, Change]) -> None:
    with pytest.raises(IllegalEvent):
        TABLE.after(*pair)


def test_every_state_can_be_left_and_reached() -> None:
    assert {state for state, _ in TABLE} == set(SeriesState)
    assert set(TABLE.values()) == set(SeriesState)
