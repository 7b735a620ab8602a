"""The page of a control in a real browser."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests import browser
from tests.browser import Browser
from tests.cluster.control_process import ControlProcess
from tests.cluster.kubernetes_stub import Kubernetes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is missing: apt-get install chromium"),
]
URL = "http://127.0.0.1:1"


def test_the_page_shows_every_part_and_what_kubernetes_refuses(
    kubernetes: Kubernetes, tmp_path: Path
) -> None:
    control = ControlProcess(
        tmp_path, kubernetes, name="eiger", idle="2h",
        receiver={"deployment": "eiger-receiver", "url": URL},
        pipelines=[{"name": "spots", "deployment": "eiger-spots", "url": URL,
                    "workers": {"deployment": "eiger-spots-workers", "count": 2}}],
    )  # fmt: skip
    with closing(Browser(tmp_path / "profile")) as chromium:
        with closing(control):
            chromium.open(f"{control.url}/")
            chromium.shows("eiger", "receiver is starting.", "taken away after 2h without a series")
            chromium.shows("spots/workers\tstarting\t2 of 2", "its pod is there, and does not answer yet")
            control.client.stop("spots")
            chromium.shows("spots\toff\t0 of 0")
            kubernetes.named.remove("eiger-receiver")
            chromium.shows("error", "the Role does not name Deployment eiger-receiver")
        chromium.shows("away", "Control away since")
