"""How many threads the numerical libraries of a worker use: their default is one per core, in each worker."""

from __future__ import annotations

VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def limit(threads: int) -> dict[str, str]:
    """Return the environment variables that say so; they are read when a library is imported."""
    return dict.fromkeys(VARIABLES, str(threads))
