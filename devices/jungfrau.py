"""PSI's JUNGFRAU, through slsdet; slsReceiver sends its frames.

Source: slsDetectorPackage 10 (`Detector.h`, `docs/src`), the Python module slsdet 10.0.1. The modules in
`devices/_sls` cite each where it is used.
"""

from __future__ import annotations

from penstock.devices._sls import parameters as keys
from penstock.devices._sls.detector import SlsDetector


class Jungfrau(SlsDetector):
    """The modules of one JUNGFRAU, each of 512 x 1024 pixels."""

    settings = keys.JUNGFRAU
    parameters = keys.parameters(settings)
    pixel = 75e-6  # A. Mozzanica et al., JINST 11 C02047 (2016)
