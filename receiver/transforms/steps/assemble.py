"""Assembling the modules of a detector in one image.

The step itself is carried out by `receiver.transforms.module_processor`, which knows the modules' positions;
the NumPy reference is `receiver.transforms.module_layout.assemble`.
"""

from __future__ import annotations

from penstock.receiver.transforms.steps.format import Format, FormatError, Kernel, Step


class Assemble(Step, frozen=True, kw_only=True, tag="assemble"):
    """The modules' images become one, each rotated and placed as its stream says; gaps are filled. Steps
    before it work on each module, steps after it on the whole image."""

    def plan(self, format: Format) -> tuple[Format, Kernel | None]:
        raise FormatError("assemble needs the streams of modules; set source.join to modules")
