"""Seeded series of a camserver that does everything wrong: the light streamer accounts for every frame."""

from __future__ import annotations

import contextlib
import os
import random
from pathlib import Path

import numpy as np
import pytest

from penstock.codecs import cbf
from tests.streamer.light_rig import SHAPE, Light, cbf_file, pixels

SEEDS = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(12)]
FRAMES = 60
AFTER_DATA = 4200
"""Bytes of a file behind its data, and some more."""


@pytest.mark.parametrize("seed", SEEDS)
def test_every_frame_of_a_random_series_is_sent_or_lost_for_a_cause(
    python: str, tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    with Light(python, tmp_path / "ramdisk") as light:
        for series in ("s1", "s2"):
            prefix = light.begin(planned=FRAMES, series=series)
            whole, broken, absent, later = set(), set(), set(), []
            order = list(range(FRAMES + 3))  # the last three are beyond the plan
            dice.shuffle(order)
            for frame in order:
                name, content = f"{prefix}_{frame:05d}.cbf", cbf_file(pixels(frame))
                how = dice.choices(("rename", "write", "pieces", "cut", "none"), (8, 3, 3, 1, 1))[0]
                if how == "none":
                    absent.add(frame)
                elif how == "cut":
                    broken.add(frame)
                    light.write(name, content[: dice.randrange(len(content) - AFTER_DATA)])
                elif how == "pieces":
                    whole.add(frame)
                    cut = dice.randrange(len(content))
                    (light.folder / name).write_bytes(content[:cut])
                    later.append((name, content[cut:]))
                elif how == "write":
                    whole.add(frame)
                    (light.folder / name).write_bytes(content)
                else:
                    whole.add(frame)
                    light.write(name, content)
                if later and dice.random() < 0.3:
                    append(light, *later.pop(dice.randrange(len(later))))
            for name, rest in later:
                append(light, name, rest)
            light.client.finish(series, triggered=FRAMES)

            _, frames, end = light.receive_series()

            planned = set(range(FRAMES))
            assert {frame.image.frame for frame in frames} == whole & planned
            assert len(frames) == end.sent == len(whole & planned)
            for frame in frames:
                assert frame.image.frame is not None
                decoded = cbf.decode(frame.blobs[0], SHAPE[0] * SHAPE[1]).reshape(SHAPE)
                np.testing.assert_array_equal(decoded, pixels(frame.image.frame))
            wanted = {"incomplete": len(broken & planned), "camera": len(absent & planned)}
            assert (end.lost or {}) == {cause: count for cause, count in wanted.items() if count}
            assert end.triggered == FRAMES
            status = light.ended()
            assert status.beyond_plan == len((whole | broken) - planned)
            assert light.files() == []


def append(light: Light, name: str, rest: bytes) -> None:
    """Complete a file, unless it was complete but for its padding, sent and removed."""
    with contextlib.suppress(FileNotFoundError), (light.folder / name).open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(rest)
