"""The key of a pipeline: with it a worker takes part, with another one it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import zmq

from penstock.processing.wire import keys
from penstock.processing.wire.sockets import is_local
from tests.processing.worker.worker_process import TOTAL, Router, ended, step, worker


def test_with_the_key_of_the_pipeline_a_worker_takes_part(tmp_path: Path) -> None:
    file = tmp_path / "key"
    keys.make(file)
    assert file.stat().st_mode & 0o777 == 0o600
    router = Router(key=keys.read(file))
    with worker(router, "", str(file)):
        router.welcome(step(TOTAL))
    router.close()


@pytest.mark.parametrize("has_key", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_with_another_key_a_worker_is_refused_once_and_says_why(has_key: bool, tmp_path: Path) -> None:
    for name in ("key", "other"):
        keys.make(tmp_path / name)
    router = Router(key=keys.read(tmp_path / "key"))
    with worker(router, *(["", str(tmp_path / "other")] if has_key else [])) as process:
        status, said = ended(process)
        assert status == 1 and "give the key of its pipeline with --key FILE" in said
        assert not has_key or len(router.events(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL)) == 1
        assert router.is_silent(0)
    router.close()


def test_a_file_without_a_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(keys.BadKey, match="cannot be read: No such file"):
        keys.read(tmp_path / "none")
    (tmp_path / "short").write_text("abc\n")
    with pytest.raises(keys.BadKey, match="has no key: it has 3 characters. A key is one line of 40"):
        keys.read(tmp_path / "short")


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("tcp://127.0.0.1:5", True), ("tcp://localhost:5", True), ("tcp://[::1]:5", True),
        ("ipc:///tmp/a", True),
        ("tcp://10.0.0.1:5", False), ("tcp://beamline:5", False), ("tcp://127.0.0.1.example.org:5", False),
    ],
)  # fmt: skip
def test_source_text_is_taken_from_this_machine_alone_without_a_key(address: str, local: bool) -> None:
    assert is_local(address) is local
