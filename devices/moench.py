"""PSI's MOENCH, through slsdet; slsReceiver sends its frames.

It is a JUNGFRAU with other gains, as far as slsdet goes: `detector.py` of slsdet 10.0.1 names both together.
"""

from __future__ import annotations

from penstock.devices._sls import parameters as keys
from penstock.devices._sls.detector import SlsDetector


class Moench(SlsDetector):
    """The modules of one MOENCH, each of 400 x 400 pixels."""

    settings = keys.MOENCH
    parameters = keys.parameters(settings)
    pixel = 25e-6  # M. Ramilli et al., JINST 12 C01071 (2017)
