"""A Kubernetes with the Deployments of one detector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.kubernetes_stub import Kubernetes

DEPLOYMENTS = {"eiger-receiver": 1, "eiger-spots": 1, "eiger-spots-workers": 2}


@pytest.fixture
def kubernetes(tmp_path: Path) -> Iterator[Kubernetes]:
    with closing(Kubernetes(tmp_path, DEPLOYMENTS, foreign=["other"])) as made:
        yield made
