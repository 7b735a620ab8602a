"""The table of cases: what each one compares, with which loads, how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from penstock_bench.results import Frames


class Case(NamedTuple):
    """One comparison.

    Of a load, a function in one of the neighbouring files lets contenders take turns, and returns their
    figures.
    """

    name: str
    what: str
    """One sentence."""
    measure: str
    """MODULE:FUNCTION of this package."""
    loads: Sequence[Any] = ("",)
    """What the function is called with, one after the other; each has a name, or is one."""
    rounds: int = 3
    rival: str = ""
    """Contender with whose figure those of the others are compared in the table; "" for none."""
    figure: str = ""
    """Name of it; several are added, see `Group.values`."""
    cell: str = "median"
    """What the table shows of the rounds: "median"; "longest": that as well; "mean": with its standard
    error."""
    upright: bool = False
    """The table has a column for each contender and a row for each figure."""
    options: Mapping[str, Any] = MappingProxyType({})
    """What `--set NAME=VALUE` may change."""


class Series(NamedTuple):
    """Series over Tango of one detector: on a disk up to the synced file, else up to the closed file on a RAM
    disk; of an Eiger with this stream, or of the Simulator."""

    name: str
    synced: bool = False
    stream: str = ""


class Stream(NamedTuple):
    """A stream of DECTRIS, of blobs of so many bytes, or of a simulated control unit's frames (0)."""

    name: str
    kind: str
    frames: int
    hertz: float = 0.0
    """0: as fast as they are taken."""
    nbytes: int = 0


class Chain(NamedTuple):
    """Frames for consumers of PvaPy that share them out, and stages of them."""

    frames: Frames
    consumers: int
    stages: int

    @property
    def name(self) -> str:
        """How people call it."""
        return f"{self.frames.name}, {' → '.join([str(self.consumers)] * self.stages)}"


KB_20 = Frames(name="20 kB", shape=(100, 100), count=30_000)
KB_200 = Frames(name="200 kB", shape=(250, 400), count=8_000)
MB_2 = Frames(name="2 MB", shape=(1000, 1000), count=1_000)
MB_20 = Frames(name="20 MB", shape=(2500, 4000), count=100)
SIZES = (KB_20, KB_200, MB_2, MB_20)
"""As fast as possible: a second or two, and 2 GB at most."""
TOP_RATES = (40_000, 12_000, 1_600, 160)
"""Frames per second of each size, more than can be taken."""
HZ_EIGER = 1000.0
plain = partial(Frames, pattern="opaque")
CONSUMED = (
    plain(name="20 kB", shape=(100, 100), count=30_000),
    plain(name="262 kB", shape=(362, 362), count=4_000),
    plain(name="4.2 MB", shape=(1448, 1448), count=400),
    plain(name="16.8 MB", shape=(2896, 2896), count=100),
)
UINT8 = (
    plain(name="512² at 200/s", shape=(512, 512), count=1_200, rate=200.0, dtype="uint8"),
    plain(name="4096² at 10/s", shape=(4096, 4096), count=60, rate=10.0, dtype="uint8"),
)

PAGE = (
    Case("contenders", "the receiver, two loops in Python, and two limits in C, each with the same frames",
         "throughput:contenders", SIZES, 3, "C: receive, pwrite", "frames/s", "mean"),
    Case("disk", "the receiver and the limit on a disk; synced: the series ends once its file is there",
         "throughput:disk", SIZES, 3, "C: receive, pwrite", "frames/s", "mean"),
    Case("offered", "frames received against frames offered, live only, to a RAM disk and to a disk",
         "throughput:offered",
         [size.of(size.count, rate) for size, rate in zip(SIZES, TOP_RATES, strict=True)], 3,
         cell="mean"),
    Case("sockets", "frames from one to four PULL sockets × I/O threads", "throughput:sockets", SIZES, 3,
         cell="mean"),
    Case("workers", "workers × I/O threads that turn frames into bitshuffle/LZ4", "throughput:workers",
         [MB_2.of(150)], 3, cell="mean"),
    Case("files", "several files per series beside one: processor time, and equal content",
         "receiver_costs:files",
         [Frames(name="20 kB, plain", shape=(100, 100), count=10_000, rate=5_000, pattern="spots"),
          Frames(name="200 kB, plain", shape=(250, 400), count=3_000, rate=1_500, pattern="spots"),
          Frames(name="2 MB, plain", shape=(1000, 1000), count=400, rate=400, pattern="spots"),
          Frames(name="20 MB, plain", shape=(2500, 4000), count=60, rate=40, pattern="spots"),
          Frames(name="2 MB, packed", shape=(1000, 2000), count=400, rate=400, compression="bslz4",
                 pattern="spots")],
         3, "1 file", "receiver, µs", options={"files": 2}),
    Case("latency", "start and end of a series over Tango", "latency:series",
         [Series("RAM disk"), Series("disk, synced", synced=True)], 20, cell="longest"),
    Case("profile", "where the processor time goes, sampled (perf)", "profile:sampled",
         [size.of(size.count // 2) for size in SIZES], 1, upright=True),
    Case("functions", "where the loop's time goes, by function (cProfile)", "profile:by_function",
         [size.of(size.count // 8) for size in SIZES], 1, upright=True),
)  # fmt: skip
"""What the page of results shows."""

CASES = (
    *PAGE,
    *(Case(f"loop-{sockets}", "what a frame costs the receiver's loop with several files, beside live",
           "loop:loop", [KB_200.of(16_000), MB_2.of(2_400), MB_20.of(60)], 15, "live, 1 socket", "loop, µs",
           options={"sockets": sockets})
      for sockets in (1, 2, 4)),
    Case("cores", "one receiver on many cores, of 1 to 6 files, of modules and live, beside a C program",
         "cores:cores", SIZES[1:], 3),
    Case("viewer", "what a viewer costs the data path, of frames of 4 million pixels",
         "receiver_costs:viewer",
         [Frames(name="uint16, 8 MB", shape=(2000, 2000), count=330, rate=40),
          Frames(name="uint32, 16 MB", shape=(2000, 2000), count=164, rate=20, dtype="uint32"),
          Frames(name="uint16, bslz4", shape=(2000, 2000), count=330, rate=40, compression="bslz4",
                 pattern="powder")], 6, "without", "loop, µs"),
    Case("regions", "what regions of interest of 100 × 100 pixels cost", "receiver_costs:regions",
         [Frames(name="2 MB, plain", shape=(1000, 1000), count=300, rate=100),
          Frames(name="2 MB, bslz4", shape=(1000, 1000), count=300, rate=100, compression="bslz4",
                 pattern="powder")], 3),
    Case("consumers", "what a consumer costs the receiver, live only", "consumers:consumers",
         CONSUMED, 3, "none", "receiver, µs"),
    Case("transforms", "Pilatus CBF to bslz4, beside its two libraries alone", "transforms:transforms",
         options={"image": ""}, rival="libraries", figure="frames/s per thread"),
    Case("eiger", "an EIGER 1M at 1 kHz into a file, beside the limit; and as fast as each takes the frames",
         "eiger:eiger",
         [Stream(f"{kind}, {text}", f"dectris-{kind}", frames, hertz)
          for kind in ("v1", "v2")
          for text, frames, hertz in (("1 kHz", 3_000, HZ_EIGER), ("as fast as taken", 6_000, 0.0))],
         7, "C: receive, pwrite", "frames/s"),
    Case("eiger-latency", "start and end of its series over Tango, beside the Simulator's", "latency:series",
         [Series("Simulator"), Series("Eiger, V1", stream="v1"), Series("Eiger, V2", stream="v2")], 20,
         cell="longest"),
    Case("dectris", "the rate of a DECTRIS stream over one socket into a file", "eiger:dectris",
         [Stream(f"{kind}, blobs of {text}", f"dectris-{kind}", frames, nbytes=nbytes)
          for kind in ("v1", "v2")
          for text, frames, nbytes in (("200 kB", 5_000, 200_000), ("2 MB", 500, 2_000_000))], 3,
         cell="longest"),
    Case("light", "what the light streamer costs a PILATUS3's control unit, and whether it keeps up",
         "light:light", rounds=1,
         options={"rate": 250.0, "seconds": 20.0, "megabytes": 2.5, "python": ""}),
    Case("window-frames", "does the live window keep up, and does it ever stall", "window:frames",
         [Frames(name="4 million pixels", shape=(2000, 2000), count=0, rate=10.0),
          Frames(name="16 million pixels", shape=(4000, 4000), count=0, rate=10.0)], 3,
         options={"seconds": 60.0, "pause": 10.0}),
    Case("window-file", "how fast a file of 100,000 frames opens", "window:file",
         [Frames(name="100,000 frames", shape=(64, 64), count=100_000)], 3),
    Case("window-results", "does the window of live results keep up, and what does it take from the pipeline",
         "window:results", [Frames(name="100 curves/s", shape=(64, 64), count=0, rate=100.0)], 3,
         options={"seconds": 60.0}),
    Case("processing-cost", "what live processing adds to a receiver, beside a plain loop", "consumers:cost",
         CONSUMED, 3, "loop", "added, µs"),
    Case("processing-paced", "the same at the rate of a detector, and how late results are",
         "consumers:paced",
         [plain(name="16 kB at 600/s", shape=(90, 90), count=6_000, rate=600),
          plain(name="4.2 MB at 60/s", shape=(1448, 1448), count=600, rate=60)], 3, "loop",
         "added, µs"),
    Case("processing-recorded", "recorded frames of 4.2 MB, read by one, two and four workers",
         "recorded:recorded",
         [Frames(name=name, shape=(1448, 1448), count=240, compression=kind)
          for name, kind in (("plain", "none"), ("packed", "bslz4"))]),
    Case("processing-sharing",
         "how eight workers that wait share the work; what is spent beside computing ones",
         "processing:sharing", [plain(name="20 kB", shape=(100, 100), count=2_000)], 3,
         "1 worker that waits", "frames/s"),
    Case("processing-kills", "how long frames wait while workers are killed", "processing:kills",
         [plain(name="20 kB at 1000/s", shape=(100, 100), count=10_000, rate=1000)], 1),
    Case("processing-dranspose", "events per second beside dranspose", "dranspose:dranspose",
         [plain(name="20 kB", shape=(100, 100), count=25_000),
          plain(name="200 kB", shape=(316, 316), count=6_000)], 3, "dranspose", "events/s"),
    Case("processing-pvapy", "the whole chain beside PvaPy's, from the sender to the worker", "pvapy:pvapy",
         [plain(name="4096² at 60/s", shape=(4096, 4096), count=240, rate=60, dtype="uint8"),
          plain(name="512² at 1500/s", shape=(512, 512), count=6_000, rate=1500, dtype="uint8")], 3,
         "PvaPy", "all, µs"),
    Case("processors-azimuthal", "azimuthal integration of 4M on one core, beside its parts and pyFAI",
         "processors:azimuthal", rival="pyFAI in a worker", figure="µs per frame"),
    Case("processors-electrons", "electron counting of 576² beside stempy", "processors:electrons",
         rival="stempy", figure="µs per frame"),
    Case("processors-pvapy", "a class of PvaPy in a worker: what of its time is ours", "processors:pvapy"),
    Case("processors-channels", "what six Tango attributes of 1,000 values/s add to a pipeline",
         "channels:tango",
         [plain(name="1,000 frames/s", shape=(100, 100), count=5_000, rate=1000),
          plain(name="full speed", shape=(100, 100), count=50_000)], 9, "without", "frames/s"),
    Case("processors-epics", "what six EPICS records set 1,000 times/s add to a pipeline", "channels:epics",
         [plain(name="1,000 frames/s", shape=(100, 100), count=5_000, rate=1000)], 9, "without",
         "frames/s"),
    Case("epics-camera", "the camera AreaDetector beside a program of its bare parts", "epics:camera",
         UINT8, 3, "bare parts", "process, µs"),
    Case("epics-bridge", "the bridge beside a program of its bare parts", "epics:bridge", UINT8, 3,
         "bare parts", "process, µs"),
    Case("epics-pvapy", "PvaPy's streaming test with and without Penstock", "pvapy:streaming",
         [Chain(frames, consumers, stages)
          for frames in (UINT8[0].of(600), UINT8[1].of(30))
          for stages in (1, 2) for consumers in (1, 2)], 3, "PvaPy", "all, µs"),
    Case("sardana", "what a detector costs a Sardana scan, and how fast a continuous scan may be",
         "sardana_scan:scans", rounds=7, options={"hertz": 8000.0}),
    Case("soak", "memory on a file system slower than the source, and every frame; on the disk",
         "soak:receiver", rounds=1, options={"seconds": 600.0}),
    Case("soak-panel", "a control panel follows 200 series, and ten panels share one device",
         "soak_panel:panel", rounds=1, options={"series": 200, "seconds": 10.0}),
)  # fmt: skip


def load_name(load: Any) -> str:
    """Return how people call a load."""
    return str(getattr(load, "name", load))


def chosen(words: Sequence[str]) -> list[Case]:
    """Return the cases of these names; a name that none has stands for all that begin with it.

    Raises:
        ValueError: there is none; the sentence names what there is.
    """
    found: list[Case] = []
    for word in words:
        exact = [case for case in CASES if case.name == word]
        those = exact or [case for case in CASES if case.name.startswith(f"{word}-")]
        if not those:
            names = ", ".join(case.name for case in CASES)
            raise ValueError(f"there is no case {word}; give some of {names}")
        found += those
    return found
