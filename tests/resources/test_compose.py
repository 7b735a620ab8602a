"""What the compose file starts are commands of ours, with files that they take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from penstock.cli.main import build_parser
from penstock.processing.config import pipeline_file
from penstock.receiver import config as configuration

FOLDER = Path(__file__).parents[2] / "resources" / "container"
COMPOSE: dict[str, Any] = YAML(typ="safe").load(FOLDER / "compose.yaml")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_a_command_of_ours_with_options_that_it_takes(name: str) -> None:
    arguments = SERVICES[name]["command"]
    assert build_parser(arguments[:1]).parse_args(arguments).run


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_needs_no_rights_and_writes_only_where_it_says(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True and service["cap_drop"] == ["ALL"] and service["tmpfs"] == ["/tmp"]
    for volume in service.get("volumes", []):
        source, target, *_ = volume.split(":")
        known = {*COMPOSE["volumes"], "/dev/shm"}
        assert (FOLDER / source).is_file() if source[0] == "." else source in known, target


def test_nothing_is_wrong_with_the_files_of_receiver_and_pipeline() -> None:
    assert configuration.errors(FOLDER / "receivers.yaml", None) == []
    assert pipeline_file.errors(FOLDER / "pipeline.yaml") == []
    (entry,) = configuration.load(FOLDER / "receivers.yaml").receivers.values()
    assert entry.on_terminate == "resume"
