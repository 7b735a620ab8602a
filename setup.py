"""The build's only step beyond `setup.cfg`: wheels and source archives say which commit they were made of.

An editable installation has no such file: there, git is asked (`hosts/version.py`).
"""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

COMMIT = run_path(str(Path(__file__).resolve().parent / "hosts" / "version.py"))["commit"]()


def write_commit(folder: Path) -> None:
    """Write the commit, if it is known, into the folder of `penstock.hosts`."""
    path = folder / "commit"
    # an older build's; in a source archive it may be a hard link to the checkout's
    path.unlink(missing_ok=True)
    if COMMIT:
        path.write_text(f"{COMMIT}\n")


class BuildWithCommit(build_py):
    """The package's files, and the commit."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            write_commit(Path(self.build_lib) / "penstock" / "hosts")


class SourcesWithCommit(sdist):
    """The sources, and the commit: there is no git where they are unpacked."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        write_commit(Path(base_dir) / "hosts")


setup(cmdclass={"build_py": BuildWithCommit, "sdist": SourcesWithCommit})
