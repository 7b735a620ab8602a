"""The id and the name of a series in the stream of slsReceiver: given when it is armed, and taken back."""

from __future__ import annotations

import os

from penstock.devices._sls.client import Client, Step
from penstock.devices._sls.parameters import flat
from penstock.stins.user_part import UserPart

ARM = "arm"
"""Key of the additional JSON header under which frames bear the id of the arming."""
MOST_CHARACTERS = 16
"""Most characters of that id: a value has 20 characters at most, the last of which is lost (`Module.cpp`,
`setAdditionalJsonParameter`, `strcpy_safe`)."""
NO_NAME = ("/", "run")
"""Defaults of fpath and fname (`docs/src/rawdatafileformat.rst`)."""
LONGEST_NAME = 999
"""Most bytes of fpath and of fname (`sls_detector_defs.h`, `MAX_STR_LENGTH`)."""


def steps(user: UserPart) -> tuple[Step, ...]:
    """Return the steps that give frames the id of the arming, and the name of the file.

    The name is for people and other programs; slsReceiver writes it into its JSON without escaping it, and
    slsdet refuses an fname with a blank (`Detector::setFileNamePrefix`).
    """
    folder, name = os.path.split(user.filename)
    plain = user.filename.isprintable() and not set('"\\') & set(user.filename) and " " not in name
    longest = max(len(os.fsencode(folder)), len(os.fsencode(name)))
    names: tuple[tuple[str, ...], ...] = (("put", "fpath", NO_NAME[0]), ("put", "fname", NO_NAME[1]))
    if name and plain and folder.startswith("/") and longest <= LONGEST_NAME:
        names = (("put", "fpath", folder), ("put", "fname", name))
    return (("call", "setAdditionalJsonParameter", ARM, user.arm), *names)


def bear_id(client: Client) -> bool:
    """Return whether frames bear the id of an arming.

    Raises:
        CameraError, BoxLost: see `Client.do`.
    """
    (headers,) = client.do(("call", "getAdditionalJsonHeader"))
    return any(ARM in header for header in flat(headers))


def clear(client: Client, names: tuple[str, str] = NO_NAME) -> None:
    """Remove the id and the names: the next series may be another client's.

    Args:
        client: client of the detector.
        names: fpath and fname from now on.

    Raises:
        CameraError, BoxLost: see `Client.do`.
    """
    fpath, fname = names
    client.do(
        ("call", "setAdditionalJsonParameter", ARM, ""), ("put", "fpath", fpath), ("put", "fname", fname)
    )
