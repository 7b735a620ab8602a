"""The schema of the chart's values has the settings that receiver and pipeline have."""

from __future__ import annotations

import json
import os

import yaml

from tests.resources.helm import chart


def test_the_chart_has_the_settings_of_this_version() -> None:
    now = json.loads(json.dumps(chart.schema()))
    if os.environ.get("PENSTOCK_REFRESH"):
        chart.SCHEMA.write_text(json.dumps(now, indent=2) + "\n")
    assert json.loads(chart.SCHEMA.read_text()) == now, "make it anew with PENSTOCK_REFRESH=1 and this test"


def test_a_detector_is_described_in_fifteen_lines_at_most() -> None:
    lines = (chart.CHART.parent / "examples/eiger-1.yaml").read_text().splitlines()
    assert sum(not line.startswith("#") for line in lines) <= 15


def test_every_value_but_the_storage_has_a_default() -> None:
    values = yaml.safe_load((chart.CHART / "values.yaml").read_text())
    assert {*values, "global", "storage"} == set(chart.schema()["properties"])
