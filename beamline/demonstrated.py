"""What every demonstration is: a folder that is checked first, and processes that end with it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.hosts.child import ProcessFailed
from penstock.stins.errors import UserError


class DemonstrationFailed(UserError):
    """The demonstration is not possible here; the sentence says why."""


class Demonstrated:
    """A context manager; `_start` starts its processes.

    Args:
        folder: for its files; created if it is missing; nothing in it is overwritten.
        progress: called with a text at each step.

    Raises:
        DemonstrationFailed: the folder cannot be written, or a process fails; from `__enter__`.
    """

    failures: tuple[type[Exception], ...] = (ProcessFailed,)
    """What a part of it says when it fails."""

    def __init__(self, folder: Path, progress: Callable[[str], None]) -> None:
        self.folder = folder.resolve()
        self._progress = progress
        self._stack = contextlib.ExitStack()
        """Everything that ends with it."""

    def __enter__(self) -> Self:
        try:
            self._check_folder()
            self._start()
        except self.failures as error:
            self._stack.close()
            raise DemonstrationFailed(str(error)) from error
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self) -> None:
        raise NotImplementedError

    def _check_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise DemonstrationFailed(
                f"cannot write into {self.folder}: {error.strerror}; choose another folder with --out"
            ) from error
