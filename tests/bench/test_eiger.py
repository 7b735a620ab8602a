"""The measurement of an EIGER takes whole series from a simulated control unit, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench import limit
from penstock.bench.contenders import PENSTOCK_RECEIVER, WRITE_LIMIT
from penstock.bench.eiger import FLAT_OUT, HERTZ, STREAMS, Rate, latencies, rates


@pytest.mark.slow
@pytest.mark.parametrize("stream", STREAMS)
def test_both_contenders_take_every_series_and_their_files_are_removed(stream: str, tmp_path: Path) -> None:
    program = limit.build(tmp_path)
    if program is None:
        pytest.skip("no C compiler")
    found, highest = rates(tmp_path, program, 1, {HERTZ: 20, FLAT_OUT: 20}, (256, 256), (stream,))
    assert [(rate.stream, rate.hertz) for rate in found] == [(stream, HERTZ), (stream, FLAT_OUT)]
    for rate in found:
        assert all(len(rate.rates[name]) == 1 and rate.cpu_us[name][0] > 0 for name in rate.rates)
    assert all(rate > 0 for rate in highest.values()) and list(highest) == [stream]
    assert [file.name for file in tmp_path.iterdir() if file.suffix] == []


def test_the_bar_is_for_the_rate_of_the_detector() -> None:
    slow = {PENSTOCK_RECEIVER: [800.0, 800.0, 990.0], WRITE_LIMIT: [1000.0, 1000.0, 1000.0]}
    assert not Rate(stream="v1", hertz=HERTZ, blob_bytes=1, frames=1, rates=slow).reached
    assert Rate(stream="v1", hertz=FLAT_OUT, blob_bytes=1, frames=1, rates=slow).reached
    assert Rate(
        stream="v1", hertz=HERTZ, blob_bytes=1, frames=1, rates={name: [1.0] for name in slow}
    ).reached


@pytest.mark.slow
def test_series_over_tango_have_their_times(tmp_path: Path) -> None:
    found = latencies(tmp_path, 2)
    assert {name: len(parts["arm"]) for name, parts in found.items()} == dict.fromkeys(found, 2)
    assert len(found["Eiger, V2"]["end"]) == 2 and min(found["Eiger, V2"]["end"]) > 0
