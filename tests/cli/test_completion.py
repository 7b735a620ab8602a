"""`penstock completion`: the scripts, and what bash completes with its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from penstock.cli.main import main

DEADLINE = 60.0


@pytest.fixture(scope="session")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "penstock.bash"
    with path.open("w") as file:
        subprocess.run(["penstock", "completion", "bash"], stdout=file, check=True, timeout=DEADLINE)
    return path


def completed(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of the words."""
    done = subprocess.run(
        ["bash", "-c", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_penstock; '
         'printf "%s\\n" "${COMPREPLY[@]}"', script, "penstock", *words],
        capture_output=True, text=True, check=True, timeout=DEADLINE,
    )  # fmt: skip
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["check"], {"check", "check-storage"}),
        (["check", "--q"], {"--quick"}),
        (["generate", "--compression", ""], {"none", "bslz4"}),
        (["device", "Sim"], {"Simulator"}),
        (["device", "Pen"], {"PenstockReceiver", "PenstockPipeline"}),
        (["streamer", ""], {"Simulator"}),
        (["status", "s"], {"sim-1"}),
        (["view", "s"], {"sim-1"}),
        (["completion", ""], {"bash", "zsh", "tcsh"}),
    ],
)
def test_bash_completes(words: list[str], offered: set[str], script: Path) -> None:
    assert offered <= completed(script, *words)


def test_bash_completes_files_and_folders(script: Path, tmp_path: Path) -> None:
    (tmp_path / "scan.h5").touch()
    (tmp_path / "scans").mkdir()
    both = {f"{tmp_path}/scan.h5", f"{tmp_path}/scans"}
    assert completed(script, "check", f"{tmp_path}/sc") == both
    assert completed(script, "view", f"{tmp_path}/sc") == both
    assert completed(script, "status", "--config", f"{tmp_path}/sc") == both
    assert completed(script, "check-storage", f"{tmp_path}/sc") == {f"{tmp_path}/scans"}


def test_bash_completes_the_receivers_of_the_configuration_that_was_given(
    script: Path, tmp_path: Path
) -> None:
    config = tmp_path / "beamline.yaml"
    source = "{source: {endpoints: ['tcp://127.0.0.1:9999']}, data_root: /tmp}"
    config.write_text(f"receivers: {{lab-7: {source}, lab-8: {source}}}\n")
    assert completed(script, "receiver", "--config", str(config), "lab") == {"lab-7", "lab-8"}
    assert completed(script, "receiver", "--config", f"{config}.gone", "") == set()


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_the_other_shells_take_their_script(shell: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["penstock", "completion", shell], capture_output=True, text=True, check=True, timeout=DEADLINE
    )
    assert "check-storage" in done.stdout
    assert "penstock completion --receivers" in done.stdout
    (tmp_path / "script").write_text(done.stdout)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    options = ["-n"] if shell == "zsh" else ["-f"]
    subprocess.run([shell, *options, str(tmp_path / "script")], check=True, timeout=DEADLINE)


def test_a_configuration_that_is_none_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "--receivers", str(tmp_path / "none.yaml")]) == 2
    assert capsys.readouterr().err.startswith(f"penstock completion: {tmp_path}/none.yaml: ")


def test_no_command_imports_what_only_completion_needs() -> None:
    code = (
        "import sys; from penstock.cli.main import main; main(['status', '127.0.0.1:x']); print(*sys.modules)"
    )
    done = subprocess.run(
        ["python", "-c", code], capture_output=True, text=True, check=True, timeout=DEADLINE
    )
    assert "shtab" not in done.stdout.split()
