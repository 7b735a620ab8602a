"""Functions that numba compiles, once per type of their arguments, for all processes of a user on a host."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from penstock.processing import kept_folder

log = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])


@overload
def compiled(function: F) -> F: ...
@overload
def compiled(*, fastmath: set[str]) -> Callable[[F], F]: ...
def compiled(function: Any = None, *, fastmath: Any = False) -> Any:
    """Compile a function when it is called with new types; what is compiled is kept in the cache folder.

    Args:
        function: uses NumPy and loops; see numba's `njit`.
        fastmath: which rules of floating-point numbers may be broken.
    """
    if function is None:
        return lambda it: _compiled(it, fastmath)
    return _compiled(function, fastmath)


def _compiled(function: Any, fastmath: Any) -> Any:
    try:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(kept_folder.folder("numba")))
        keeps = True
    except kept_folder.NoFolderError:
        keeps = False
    import numba  # reads the variable

    keys = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    made = cast(Any, numba.njit(cache=keeps, **keys)(function))
    if keeps:
        made._cache.save_overload = _unless_full(made._cache.save_overload)
    return made


def _unless_full(save: Callable[..., None]) -> Callable[..., None]:
    """Return a call that keeps what is compiled if it can: without that, the next process compiles again."""

    def keep(*given: Any) -> None:
        try:
            save(*given)
        except OSError as error:
            folder = os.environ["NUMBA_CACHE_DIR"]
            log.warning(
                "what is compiled cannot be kept in %s (%s), and each worker compiles for itself: make room, "
                "or let %s name another folder", folder, error.strerror or error, kept_folder.VARIABLE,
            )  # fmt: skip

    return keep
