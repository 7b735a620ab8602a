"""The measurements of DECTRIS' streams take whole series, and leave nothing behind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock_bench.cases import HZ_EIGER, Stream
from penstock_bench.eiger import STREAMS, dectris, eiger
from penstock_bench.runner import Bench

KINDS = [pytest.param(kind, marks=() if kind == "dectris-v2" else pytest.mark.slow) for kind in STREAMS]


@pytest.mark.parametrize("kind", KINDS)
def test_a_series_is_taken_whole_and_its_file_removed(kind: str, tmp_path: Path) -> None:
    (found,) = dectris(Bench(folder=tmp_path), Stream("", kind, frames=5, nbytes=20_000)).values()
    assert found[0]["frames/s"] > 0
    assert not list(tmp_path.glob("*.h5"))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="the limit needs a C compiler")
@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("hertz", [HZ_EIGER, 0.0])
def test_both_contenders_take_every_series_and_their_files_are_removed(
    kind: str, hertz: float, tmp_path: Path
) -> None:
    bench = Bench(folder=tmp_path)
    turns = eiger(bench, Stream("", kind, frames=20, hertz=hertz), (256, 256))
    assert not bench.failed, bench.notes
    alone = [] if hertz else ["the control unit alone"]
    assert list(turns) == ["penstock", "C: receive, pwrite", *alone]
    assert all(turn["frames/s"] > 0 and turn["receiver, µs"] > 0 for (turn,) in turns.values())
    assert [file.name for file in tmp_path.iterdir() if file.suffix] == []
