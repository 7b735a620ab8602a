"""The exception of an abort comes as a macro takes the Door's monitor, as it may once in some hundreds."""

from __future__ import annotations

import threading
import time

import tango
from sardana.macroserver.macro import Macro
from sardana.macroserver.msexception import AbortException


class kept_monitor(Macro):
    """Nobody gives it back, and what the macro waits for then needs it."""

    def run(self) -> None:
        """See the class."""
        monitor = tango.AutoTangoMonitor(tango.Util.instance().get_device_by_name(self.getDoorName()))
        self.output("waits")
        try:
            while True:
                time.sleep(0.001)
        except AbortException:
            monitor._acquire()
            threading.Event().wait()
