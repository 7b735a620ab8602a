"""Transforms: what workers do to each frame between the source and the file, as configured.

One file a step: a pure function, and its typed configuration. To add one, write its file and name it
in `Transform`; docs/how-to/add-a-transform.md goes through it.
"""

from __future__ import annotations

from typing import TypeAlias

from penstock.receiver.transforms.assemble import Assemble
from penstock.receiver.transforms.bslz4 import Bslz4, Decompress
from penstock.receiver.transforms.cbf import Cbf
from penstock.receiver.transforms.dark_flat import DarkFlat
from penstock.receiver.transforms.energy import CountsToEnergy
from penstock.receiver.transforms.flip import Flip
from penstock.receiver.transforms.mask import Mask
from penstock.receiver.transforms.mono12 import Mono12p, Mono12Packed
from penstock.receiver.transforms.rotate import Rotate

Transform: TypeAlias = (
    Assemble
    | Bslz4
    | Cbf
    | CountsToEnergy
    | DarkFlat
    | Decompress
    | Flip
    | Mask
    | Mono12p
    | Mono12Packed
    | Rotate
)
"""Every step that a chain can have."""
