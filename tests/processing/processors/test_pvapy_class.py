"""Classes of PvaPy run as they are; where it is not installed a sentence says so."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.cli.main import main
from penstock.processing.config.built_in import PVAPY_ADAPTER
from penstock.processing.results.read import Results
from penstock.processing.worker.configuring import Refusal
from penstock.processing.worker.loading import LoadingError
from tests.processing.processors.built_in import begun
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

EXAMPLE = Path(str(files("penstock.resources") / "pipelines/pvapy_flip.py"))
SHAPE = (6, 8)
IMAGES = np.random.default_rng(3).integers(0, 1000, (7, *SHAPE)).astype(np.uint16)
SOME = """\
import numpy as np
from pvapy.hpc.adImageProcessor import AdImageProcessor


class Some(AdImageProcessor):
    def __init__(self, configDict={}):
        AdImageProcessor.__init__(self, configDict)
        self.more = configDict.get("more", 1)
        self.said = [str(self.metadataQueueMap)]

    def configure(self, configDict):
        self.more = configDict["more"]

    def start(self):
        print("started as", self.inputChannel, self.outputChannel, self.objectIdField)

    def stop(self):
        print("stopped")

    def getStats(self):
        return {"more": self.more}

    def process(self, pvObject):
        number, image, *_ = self.reshapeNtNdArray(pvObject)
        for copy in range(2 * (number % 2)):
            self.replaceNtNdArrayImage2D(pvObject, number, image + np.uint16(copy * self.more))
            self.updateOutputChannel(pvObject)
        return pvObject
"""
NUMBERS = """\
import pvaccess as pva
from pvapy.hpc.userDataProcessor import UserDataProcessor


class Numbers(UserDataProcessor):
    def process(self, pvObject):
        pixels = pvObject["value"][0]["ushortValue"]
        kinds = {"total": pva.LONG, "row": [pva.INT], "who": pva.STRING, "output_count": pva.INT}
        values = {"total": int(pixels.sum()), "row": [1, 2, 3], "who": "me", "output_count": 5}
        return pva.PvObject(kinds, values)


class Much(UserDataProcessor):
    def process(self, pvObject):
        for _ in range(17):
            self.updateOutputChannel(pvObject)


class Associates(UserDataProcessor):
    def process(self, pvObject):
        try:
            for channel, queue in self.metadataQueueMap.items():
                queue.get(0)
        except Exception:
            pass
        self.updateOutputChannel(pvObject)


class Serves(UserDataProcessor):
    def start(self):
        if self.pvaServer is not None:
            self.pvaServer.addRecord("mine", None)


class Neither:
    pass
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text)
    return path


def test_without_pvapy_the_worker_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pvaccess", None)
    monkeypatch.delitem(sys.modules, PVAPY_ADAPTER, raising=False)
    path = written(tmp_path, SOME)
    with pytest.raises(LoadingError) as raised:
        begun(f"pvapy:{path}:Some")
    monkeypatch.delitem(sys.modules, PVAPY_ADAPTER)  # the next test may have it
    said = "class Some in mine.py needs PvaPy (pvapy), which is not here: install it for the Python of this "
    assert str(raised.value) == f"{said}worker, {sys.executable}"


@pytest.mark.slow
def test_the_shipped_class_flips_and_its_attribute_is_a_number(pvapy: Path) -> None:
    made = begun(f"pvapy:{EXAMPLE}:Flip").take(IMAGES)
    assert not made.errors and made.of("output_count") == [1] * len(IMAGES)
    np.testing.assert_array_equal(made.of("image"), IMAGES[:, ::-1])
    assert made.of("first") == IMAGES[:, -1, 0].tolist()
    made.change(config={"factor": 3})
    assert made.take(IMAGES[:1], 7).of("first")[-1] == 3 * IMAGES[0, -1, 0]


@pytest.mark.slow
def test_pvapys_own_class_passes_images_on_whatever_their_type(pvapy: Path) -> None:
    for dtype in ("uint8", "int32", "uint64", "float32", "bool", ">u2"):
        images = IMAGES.astype(dtype)
        made = begun("pvapy:pvapy.hpc.adImageProcessor:AdImageProcessor").take(
            images.astype(images.dtype.newbyteorder("="))
        )
        assert not made.errors
        np.testing.assert_array_equal(made.of("image"), images)


@pytest.mark.slow
def test_a_class_may_publish_nothing_or_two_objects_and_is_configured_between_two_frames(
    pvapy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    made = begun(f"pvapy:{written(tmp_path, SOME)}:Some", {"config": {"more": 3}}).take(IMAGES[:4])
    assert capfd.readouterr().out == "started as penstock penstock uniqueId\n"
    made.change(config={"more": 5})
    made.take(IMAGES[4:], 4)
    assert not made.errors and made.of("output_count") == [0, 2, 0, 2, 0, 2, 0]
    assert list(made.values["image"]) == list(made.values["image_2"]) == [1, 3, 5]
    for index, more in ((1, 3), (3, 3), (5, 5)):
        np.testing.assert_array_equal(made.values["image"][index], IMAGES[index])
        np.testing.assert_array_equal(made.values["image_2"][index], IMAGES[index] + more)
    made.chain.end(1)
    assert capfd.readouterr().out == "stopped\n" and "Some: {'more': 5}" in caplog.text


@pytest.mark.slow
def test_fields_of_any_object_are_results_and_text_is_none(pvapy: Path, tmp_path: Path) -> None:
    path = written(tmp_path, NUMBERS)
    made = begun(f"pvapy:{path}:Numbers").take(IMAGES)
    assert not made.errors
    assert made.of("total") == IMAGES.sum(axis=(1, 2)).tolist()
    assert made.of("row")[0].tolist() == [1, 2, 3] and made.of("output_count_") == [5] * len(IMAGES)
    assert set(made.values) == {"output_count", "output_count_", "row", "total"}
    made = begun(f"pvapy:{path}:Much").take(IMAGES[:1])
    assert "Much has published 17 objects for one frame, and 16 are the most" in made.errors[0]
    with pytest.raises(
        LoadingError, match="mine.py: class Neither is no processor of PvaPy: it derives from"
    ):
        begun(f"pvapy:{path}:Neither")


@pytest.mark.slow
def test_who_uses_metadata_channels_or_the_server_of_pvapy_is_told_that_there_are_none(
    pvapy: Path, tmp_path: Path
) -> None:
    path = written(tmp_path, NUMBERS)
    made = begun(f"pvapy:{path}:Associates").take(IMAGES[:2])
    assert set(made.errors) == {0, 1} and "image" not in made.values
    assert made.errors[0].startswith(
        "Associates uses metadataQueueMap, and there are no metadata channels of"
    )
    with pytest.raises(
        Refusal, match="Serves uses pvaServer, and there is no server and no channel of PvaPy"
    ):
        begun(f"pvapy:{path}:Serves")


@pytest.mark.slow
def test_the_account_is_exact_by_penstock_process(
    pvapy: Path, start_receiver: Callable[..., ReceiverProcess], streamer: Streamer, tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    receiver = start_receiver()
    receiver.connected()
    raw = receiver.root / "a.h5"
    receiver.ended(streamer.series_of(str(raw), 40))
    written(tmp_path, SOME)
    path = tmp_path / "some.yaml"
    keys: dict[str, Any] = {"processor": "pvapy:mine.py:Some", "http": "127.0.0.1:0", "workers": 2}
    path.write_text(json.dumps(keys))
    assert main(["process", str(path), str(raw)]) == 0
    assert re.search(r"40 frames: 40 done\n", capfd.readouterr().out)
    results = Results(receiver.root / "a.some.h5")
    assert results.rows("output_count", 0, 40).values.tolist() == [0, 2] * 20
    found = results.rows("image_2", 0, 40)
    assert found.has.tolist() == [False, True] * 20
    assert found.values[1::2, 0, 0].tolist() == [24 * number + 1 for number in range(1, 40, 2)]
