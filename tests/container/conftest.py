"""The images that the tests run, built once."""

from __future__ import annotations

import os
import shutil

import pytest

from penstock.processing import kept_folder
from tests.container.store import Store


@pytest.fixture(scope="session")
def store() -> Store:
    if not os.environ.get("PENSTOCK_CONTAINER"):
        pytest.skip("it builds an image: run `make test-container`")
    missing = [name for name in ("buildah", "podman", "runc", "mmdebstrap") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"an image is built by root with buildah, podman, runc, mmdebstrap; missing: {missing}")
    return Store(kept_folder.folder("containers"))


@pytest.fixture(scope="session")
def image(store: Store) -> str:
    return store.build("receiver")


@pytest.fixture(scope="session")
def integrating(store: Store) -> str:
    """The image that integrates, too."""
    return store.build("receiver,processing")
