"""The how-to for EPICS clients does what it says; the reference has every key, record and metric."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.bridges.epics import status_records
from penstock.bridges.epics.config import EpicsConfig, ImageConfig, InConfig
from penstock.bridges.epics.metrics import METRICS, PREFIX
from penstock.service.prometheus import COUNTER
from tests.bridges.epics.bridge_process import environment
from tests.pages import run

DOCS = Path(__file__).parents[3] / "docs"
REFERENCE = (DOCS / "reference" / "epics.md").read_text()


@pytest.mark.slow
def test_the_how_to_works_as_it_is_written(tmp_path: Path) -> None:
    run(DOCS / "how-to" / "frames-and-results-in-epics-clients.md", tmp_path, environment())


def test_the_reference_has_every_key_of_the_file() -> None:
    for kind in (EpicsConfig, ImageConfig, InConfig):
        for key in kind.__struct_encode_fields__:
            assert f"| `{key}` |" in REFERENCE, key


def test_the_reference_has_every_record_of_state_and_counts() -> None:
    for table in (status_records.RECEIVER, status_records.PIPELINE, status_records.IN):
        for name in table:
            assert f"`{name}`" in REFERENCE, name


def test_the_reference_has_every_metric_and_no_other() -> None:
    named = re.findall(rf"`({PREFIX}\w+)`", REFERENCE)
    ours = [PREFIX + each.name + ("_total" if each.kind is COUNTER else "") for each in METRICS]
    assert sorted(named) == sorted(ours)
