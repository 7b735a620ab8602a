"""`penstock sardana-demo` as a user meets it."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import psutil
import pytest
from rich.console import Console

from penstock.cli.main import main
from penstock.cli.sardana_demo import _split
from penstock.hosts.child import PENSTOCK
from penstock.sardana.laboratory.macro_screen import MacroScreen
from tests.pages import alike


@pytest.mark.slow  # the tutorial's page takes a scan of it, too
def test_macros_run_one_after_the_other_until_one_fails(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    # Whatever Tango database and profiles the user has are left alone.
    environment = {**os.environ, "TANGO_HOST": "127.0.0.1:1", "HOME": str(home)}
    out = tmp_path / "out"
    macros = ("ascan mot01 0 1 4 0.02", "no_such_macro", "ct 0.02")
    with _ended_with_all_its_processes(
        [*PENSTOCK, "sardana-demo", "--json", "--out", str(out), "--", *macros], environment
    ) as demo:
        output, words = demo.communicate(timeout=90)

    assert demo.returncode == 1, words
    summary = json.loads(output)
    assert [(run["macro"], run["ending"]) for run in summary["macros"]] == [
        ("ascan mot01 0 1 4 0.02", "finish"), ("no_such_macro", "refused"),
    ]  # fmt: skip
    assert "no_such_macro" in summary["macros"][1]["error"]
    scan = Path(summary["scan_file"])
    assert scan == out / "demo-0001.h5"
    with h5py.File(scan, locking=False) as file:
        assert file["entry1/measurement/mot01"].shape == (5,)
    (images,) = map(Path, summary["images"])
    with h5py.File(images, locking=False) as file:
        assert file["entry/data/data"].shape == (5, 256, 512)
        assert file["entry/data/data"][0].max() > file["entry/data/data"][0].min()
    assert "#Pt No" in words  # live, as spock shows it
    for line in (f"penstock view {scan}", f"silx view {scan}", f"penstock check {images}"):
        assert line in words
    assert not list(home.iterdir())


@pytest.mark.slow
def test_spock_completes_stops_and_ends(tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    environment = {**os.environ, "TERM": "xterm", "HOME": str(tmp_path), "DISPLAY": ":0"}
    argv = [*PENSTOCK, "sardana-demo", "--out", str(tmp_path / "out")]
    terminal = pexpect.spawn(
        argv[0], argv[1:], env=environment, dimensions=(50, 150), encoding="utf-8", timeout=90
    )
    said = io.StringIO()
    terminal.logfile_read = said
    try:
        terminal.expect("Door_penstock")
        for word in ("WARNING", "Traceback", "Error"):
            assert word not in said.getvalue()
        family = psutil.Process(terminal.pid).children(recursive=True)
        assert family

        terminal.send("ascan mo\t")
        terminal.expect("mot02")  # in the menu
        terminal.send("\x15ascan mot01 0 1 50 0.3\r")  # Ctrl-U empties the line
        terminal.expect(r" 1 +0\.02 ")  # the second point
        terminal.sendintr()
        terminal.expect("Stopping done!")
        terminal.send("wa\r")
        terminal.expect("Current positions")
        terminal.send("lsenv\r")
        terminal.expect("ActiveMntGrp")
        terminal.expect("Door_penstock")  # before it has asked again, Ctrl-D would be for nobody
        terminal.sendeof()

        terminal.expect("silx view")
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert terminal.exitstatus == 0, said.getvalue()
        _, alive = psutil.wait_procs(family, timeout=10)
        assert not alive
        assert not (tmp_path / ".ipython").exists()
    finally:
        _end(terminal)


@pytest.mark.slow
def test_the_tutorial_works_at_spocks_prompt(tmp_path: Path) -> None:
    """Its blocks marked "spock": what is typed, and what is printed below it."""
    pexpect = pytest.importorskip("pexpect")
    page = (Path(__file__).parents[2] / "docs/tutorial/first-scan.md").read_text()
    blocks = "".join(re.findall(r"^```spock\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    steps = re.findall(
        r"^Door_penstock \[\d+\]: (.*)\n((?:(?!Door_penstock).*\n)*)", blocks, re.MULTILINE
    )  # fmt: skip
    assert len(steps) == 7
    argv = [*PENSTOCK, "sardana-demo", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "IPY_TEST_SIMPLE_PROMPT": "1"}  # without colours and cursors
    terminal = pexpect.spawn(
        argv[0], argv[1:], env=environment, dimensions=(50, 200), encoding="utf-8", timeout=90
    )
    try:
        terminal.expect_exact("Door_penstock [1]: ")
        for number, (typed, printed) in enumerate(steps, 2):
            terminal.sendline(typed)
            terminal.expect_exact(f"Door_penstock [{number}]: ")
            said = re.sub(r"\x1b\[[\d;]*m", "", terminal.before).partition("\n")[2]
            assert alike(printed, said), (typed, said)
        terminal.sendline("exit")
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert terminal.exitstatus == 0
    finally:
        _end(terminal)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 128 + signal.SIGINT)]
)
@pytest.mark.parametrize("moment", ["Tango database", "detector sim", "#Pt No"])
def test_a_signal_ends_everything_at_any_moment(
    moment: str, number: signal.Signals, status: int, tmp_path: Path
) -> None:
    argv = [*PENSTOCK, "sardana-demo", "--out", str(tmp_path), "--", "ascan mot01 0 1 100 0.1"]
    with _ended_with_all_its_processes(argv, dict(os.environ)) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if moment in line:
                break
        demo.send_signal(number)
        rest, errors = demo.communicate(timeout=30)
    assert demo.returncode == status, (rest, errors)
    assert "Traceback" not in errors


@pytest.mark.slow
def test_a_second_ctrl_c_does_not_break_off_the_end(tmp_path: Path) -> None:
    argv = [*PENSTOCK, "sardana-demo", "--out", str(tmp_path), "--", "ct 0.1"]
    with _ended_with_all_its_processes(argv, dict(os.environ)) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "ending Sardana" in line:
                break
        while demo.poll() is None:
            demo.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                demo.wait(0.1)


def test_a_json_form_without_macros_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sardana-demo", "--json"]) == 2
    assert '"ct 1"' in json.loads(capsys.readouterr().out)["error"]


def test_a_folder_that_cannot_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["sardana-demo", "--out", str(tmp_path / "file")]) == 2
    assert "choose another folder with --out" in capsys.readouterr().err


def test_without_sardana_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(name: str) -> Any:
        return None if name == "sardana" else importlib.util.find_spec(name)

    monkeypatch.setattr("penstock.cli.sardana_demo.find_spec", none)
    assert main(["sardana-demo"]) == 2
    error = capsys.readouterr().err
    assert "pip install" in error and "[sardana]" in error


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ascan mot01 0 1 20 0.1", ["ascan", "mot01", "0", "1", "20", "0.1"]),
        ("mv [[mot01 1][mot02 2]]", ["mv", "[", "[", "mot01", "1", "]", "[", "mot02", "2", "]", "]"]),
        ("senv ScanDir '/a b'", ["senv", "ScanDir", "/a b"]),
        ("senv x #1", ["senv", "x", "#1"]),
    ],
)
def test_a_macro_is_split_as_spock_splits_it(text: str, words: list[str]) -> None:
    assert _split(text) == words


@pytest.mark.parametrize("text", ["", "ct '1"])
def test_a_macro_that_cannot_be_split_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sardana-demo", "--", text]) == 2
    assert "macro" in capsys.readouterr().err


BLOCKS = ["before", "<BLOCK>", "at 1", "</BLOCK>", "<BLOCK>", "at 2", "</BLOCK>", "after"]


def test_a_line_that_replaces_itself_is_shown_once_in_a_pipe() -> None:
    shown = io.StringIO()
    screen = MacroScreen(Console(file=shown, width=80))
    for line in BLOCKS:
        screen.on_message("Output", line)
    screen.flush()
    assert shown.getvalue().split("\n") == ["before", "at 2", "after", ""]


def test_a_line_that_replaces_itself_does_so_on_a_terminal() -> None:
    shown = io.StringIO()
    screen = MacroScreen(Console(file=shown, width=80, force_terminal=True, color_system=None))
    for line in BLOCKS:
        screen.on_message("Output", line)
    assert shown.getvalue() == "before\nat 1\n\x1b[1A\x1b[2Kat 2\nafter\n"


def _end(terminal: Any) -> None:
    """Whatever the test found, the demo has the time to end its processes."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(terminal.pid)
        process.terminate()
        psutil.wait_procs([process], timeout=20)
    terminal.close(force=True)


@contextlib.contextmanager
def _ended_with_all_its_processes(
    argv: list[str], environment: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """Every process of the demo has a token in its environment, by which those left behind are found."""
    token = f"{os.getpid()}-{id(argv)}"
    with subprocess.Popen(
        argv, env={**environment, "PENSTOCK_TEST_TOKEN": token}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(20)
    left = []
    for each in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if each.environ().get("PENSTOCK_TEST_TOKEN") == token:
                left.append(each.cmdline())
    assert not left
