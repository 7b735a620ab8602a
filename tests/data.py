"""Recordings of real detectors, which are not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(
    os.environ.get("PENSTOCK_TEST_DATA") or Path(__file__).resolve().parent.parent.parent / "shared" / "data"
)

EIGER_V1 = "eiger1m_stream_v1.cborseq.gz"
"""DECTRIS EIGER 1M, stream V1, header detail "all": a start message, 9 frames, no end message."""
EIGER_V2 = "eiger1m_stream_v2.cborseq.gz"
"""DECTRIS EIGER 1M, stream V2: start, 10 frames, end."""
LAMBDA = tuple(f"lambda_m{number}_part00000.nxs" for number in (1, 2, 3))
"""Files of the modules of an X-Spectrum Lambda, 10 frames each."""

CEO2 = "CeO2_Pilatus1M.tif"
"""Powder rings of CeO2 on a PILATUS 1M, 1043 x 981, int32; gaps and bad pixels are negative."""


def recording(name: str) -> Path:
    """Path of a recording; the test is skipped, by name, where it is missing."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"{name} is not in {FOLDER}; PENSTOCK_TEST_DATA names the folder of the recordings")
    return path
