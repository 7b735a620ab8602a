"""The runner: turns, what has no figures, what is measured again; and the one way to start it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from penstock.hosts.child import PYTHON
from penstock_bench import __main__ as command
from penstock_bench import cases, runner
from penstock_bench.__main__ import main
from penstock_bench.cases import CASES, Case, chosen
from penstock_bench.results import Results, Turn, Turns
from penstock_bench.runner import PATH, Bench, NotMeasured, measure
from tests.bench.canned import MACHINE, group, results

GOOD, BAD, ABSENT = (
    Case("a", "good", "fake:good", ("x", "y")),
    Case("b", "bad", "fake:bad"),
    Case("c", "", "fake:c"),
)


class Fake:
    """A module of cases."""

    @staticmethod
    def good(bench: Bench, load: str) -> Turns:
        (bench.folder / "left.raw").touch()
        return {load: [{"frames/s": 1.0}] * bench.rounds}

    @staticmethod
    def bad(bench: Bench, load: str) -> Turns:
        raise RuntimeError("the series was not complete")

    @staticmethod
    def c(bench: Bench, load: str) -> Turns:
        raise NotMeasured("there is no PvaPy; make judges installs it")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(runner, "import_module", lambda name: Fake)
    return Bench(folder=tmp_path, rounds=2)


def test_contenders_take_turns_after_a_round_that_is_not_counted(tmp_path: Path) -> None:
    taken: list[str] = []

    def take(name: str) -> Turn:
        taken.append(name)
        return {"frames/s": float(len(taken))}

    bench = Bench(folder=tmp_path, rounds=2)
    turns = bench.in_turn({name: lambda name=name: take(name) for name in "ab"}, warm_up=1)  # type: ignore[misc]
    assert taken == ["a", "b"] * 3
    assert turns == {"a": [{"frames/s": 3.0}, {"frames/s": 5.0}], "b": [{"frames/s": 4.0}, {"frames/s": 6.0}]}


def test_a_contender_that_fails_has_no_figures_and_the_others_go_on(tmp_path: Path) -> None:
    def fail() -> Turn:
        raise RuntimeError("frames were lost")

    bench = Bench(folder=tmp_path, rounds=2)
    assert bench.in_turn({"a": fail, "b": dict}) == {"b": [{}, {}]}
    assert bench.notes == ["no figures: a: frames were lost"] and bench.failed


def test_on_a_slow_machine_there_are_fewer_rounds(tmp_path: Path) -> None:
    bench = Bench(folder=tmp_path, rounds=3)
    assert bench.in_turn({"a": dict}, round_seconds=0.0) == {"a": [{}]}
    assert bench.notes == ["1 of 3 rounds, which took long"]


def test_a_disk_is_no_ram_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(folder=tmp_path, disk=tmp_path)
    monkeypatch.setattr(runner, "file_system", lambda folder: "ext4")
    assert bench.on_disk() == tmp_path
    monkeypatch.setattr(runner, "file_system", lambda folder: "tmpfs")
    with pytest.raises(NotMeasured, match="is on a RAM disk; give a folder on a disk with --disk"):
        bench.on_disk()


def test_what_cannot_be_measured_is_a_note_and_what_has_failed_is_a_failure(bench: Bench) -> None:
    found = Results(machine=MACHINE)
    assert [each.name for each in measure(GOOD, found, bench)] == ["x", "y"] and not bench.failed
    assert list(measure(ABSENT, found, bench)) == [] and not bench.failed
    assert list(measure(BAD, found, bench)) == [] and bench.failed
    assert found.notes == [
        "c: not measured: there is no PvaPy; make judges installs it",
        "b: no figures: the series was not complete",
    ]
    assert not list(bench.folder.iterdir()), "what a case leaves is removed"


def test_measured_again_is_what_is_asked_for_and_the_rest_is_kept(bench: Bench) -> None:
    found = Results(machine=MACHINE)
    found.put(group("a", "x", {"x": [{"frames/s": 9.0}] * 2}))
    assert [each.name for each in measure(GOOD, found, bench, again=False)] == ["y"]
    bench.rounds = 3
    assert [each.name for each in measure(GOOD, found, bench, again=False)] == ["x", "y"]
    assert [each.name for each in measure(GOOD, found, bench, ["y"])] == ["y"]


def test_a_name_that_no_case_has_stands_for_all_that_begin_with_it() -> None:
    assert [case.name for case in chosen(["window", "soak"])] == [
        "window-frames", "window-file", "window-results", "soak",
    ]  # fmt: skip
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_function_of_a_case_is_there(case: Case) -> None:
    module, _, function = case.measure.partition(":")
    path = Path(cases.__file__).with_name(f"{module}.py")
    assert f"\ndef {function}(bench: Bench, " in path.read_text().replace("(\n    bench", "(bench")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nonsense"], "there is no case nonsense; give some of contenders, disk, "),
        (["--dir", "/there/is/none"], "--dir /there/is/none is not a folder"),
        (["contenders", "--only", "17 kB"], "--only 17 kB; give some of 2 MB, 20 MB, 20 kB, 200 kB"),
        (["light", "--set", "rat=1"], "--set rat; give some of rate, seconds, megabytes, python"),
        (["light", "--set", "rate=fast"], "could not convert string to float: 'fast'"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


def test_the_help_lists_every_case_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(f"\n  {case.name} " in said for case in CASES) and "seconds=600.0" in said


@pytest.fixture
def unsignalled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command.signal, "signal", lambda number, handler: None)  # not for this process


@pytest.mark.usefixtures("unsignalled")
@pytest.mark.slow
def test_what_is_kept_is_drawn_and_judged_without_measuring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results().save(tmp_path / "results.json")
    assert main(["contenders", "latency", "--rounds", "3", "--figures", str(tmp_path), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["reached"] and "NOT reached" not in said.err
    assert (tmp_path / "contenders.svg").is_file() and (tmp_path / "results.md").is_file()


@pytest.mark.usefixtures("unsignalled")
def test_without_a_compiler_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner.shutil, "which", lambda program: None)
    assert main(["cores", "--only", "2 MB"]) == 0
    assert "send.c needs a C compiler; to install one: apt-get install gcc" in capsys.readouterr().out


@pytest.mark.usefixtures("unsignalled")
@pytest.mark.parametrize(
    "case", ["processors-electrons", "processors-pvapy", "epics-pvapy", "processing-pvapy"]
)
def test_a_case_without_the_programs_of_others_says_what_installs_them(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(runner, "JUDGES", tmp_path)
    assert main([case, "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["groups"] == [] and "make judges installs it" in said.err


def test_ending_it_ends_what_it_has_started(tmp_path: Path) -> None:
    argv = [*PYTHON, "-m", "penstock_bench", "contenders", "--only", "20 kB", "--dir", str(tmp_path)]
    environment = os.environ | PATH
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as bench:
        process, deadline = psutil.Process(bench.pid), time.monotonic() + 60
        while len(family := process.children(recursive=True)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)

        bench.terminate()

        assert bench.wait(30) == 143
    assert len(family) >= 2, "a contender and its sender"
    assert not psutil.wait_procs(family, timeout=5)[1]
    assert list(tmp_path.iterdir()) == []
