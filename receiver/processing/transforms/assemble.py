"""Put the modules of a detector together in one image.

The step itself is done by `receiver.processing.module_processor`, which knows where the modules sit; the
NumPy reference is `receiver.processing.module_layout.assemble`.
"""

from __future__ import annotations

from penstock.receiver.processing.transforms.format import Format, FormatError, Kernel, Plan, Step


class Assemble(Step, frozen=True, kw_only=True, tag="assemble"):
    """The modules' images become one, each turned and put where its stream says; the rest is filled. Steps
    before it work on each module, those behind it on the whole image."""

    def load(self) -> Plan:
        return self._plan

    def _plan(self, format: Format) -> tuple[Format, Kernel | None]:
        raise FormatError("assemble needs the streams of modules; set source.join to modules")
