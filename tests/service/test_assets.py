"""The pages of all services: what each has of its own, in the frame that all of them have."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from penstock.bridges.epics import http as bridge
from penstock.cluster import http as control
from penstock.processing.service import http as pipeline
from penstock.receiver.http import api as receiver
from penstock.service.assets import Asset


@pytest.mark.parametrize(
    ("assets", "title", "name"),
    [
        (receiver.ASSETS, "Penstock receiver", "Receiver"),
        (pipeline.ASSETS, "Penstock pipeline", "Pipeline"),
        (bridge.ASSETS, "Penstock bridge to EPICS", "Bridge"),
        (control.ASSETS, "Penstock control", "Control"),
    ],
)
def test_a_page_has_its_title_and_name_and_loads_only_what_its_service_has(
    assets: Mapping[str, Asset], title: str, name: str
) -> None:
    page = assets["/"].read().decode()
    assert f"<title>{title}</title>" in page and f'<span id="name">{name}</span>' in page
    assert "$" not in page and page.count("<main ") == page.count("</main>") == 1
    loaded = re.findall(r'(?:src|href)="(assets/[^"]+)"', page)
    assert len(loaded) >= 2 and all(f"/{each}" in assets for each in loaded)
    scripts = [path for path in loaded if path.endswith(".js")]
    assert len(scripts) == 1
    imported = re.findall(r'from "\./([\w-]+\.js)"', assets[f"/{scripts[0]}"].read().decode())
    assert imported and all(f"/assets/{each}" in assets for each in imported)


def test_the_links_of_a_page_are_those_of_all_pages_and_its_own() -> None:
    links = {
        name: re.findall(r'<a href="([^"]+)">', assets["/"].read().decode().partition("<footer>")[2])
        for name, assets in (("control", control.ASSETS), ("pipeline", pipeline.ASSETS))
    }
    common = ["docs", "metrics", "health/ready", "config"]
    assert links == {"control": ["status", *common], "pipeline": ["status", "results", *common]}
