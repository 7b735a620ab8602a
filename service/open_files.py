"""The limit of open files (RLIMIT_NOFILE), which a service may reach: what to do then."""

from __future__ import annotations

import errno
from collections.abc import Mapping

KIND = "too_many_files"
"""Stable name of the refusal."""
REMEDIES: Mapping[int, str] = {
    errno.EMFILE: "This process may not open more files: raise its limit (prlimit --nofile while it runs; "
    "ulimit -n, or LimitNOFILE of its service, for its next start)",
    errno.ENFILE: "This host may not open more files: end other programs, or raise fs.file-max",
}
"""What to do, by error number, as a sentence without its full stop."""
