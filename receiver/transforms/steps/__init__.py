"""Transforms: the configured steps that are applied to each frame between source and file.

Each step has one file with a pure function and its typed configuration. To add one, write its file and
name it in `Transform`; docs/how-to/add-a-transform.md goes through it.
"""

from __future__ import annotations

from typing import TypeAlias

from penstock.receiver.transforms.steps.assemble import Assemble
from penstock.receiver.transforms.steps.bslz4 import Bslz4, Decompress
from penstock.receiver.transforms.steps.cbf import Cbf
from penstock.receiver.transforms.steps.dark_flat import DarkFlat
from penstock.receiver.transforms.steps.energy import CountsToEnergy
from penstock.receiver.transforms.steps.mask import Mask
from penstock.receiver.transforms.steps.mono12 import Mono12p, Mono12Packed
from penstock.receiver.transforms.steps.orientation import Flip, Rotate

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
