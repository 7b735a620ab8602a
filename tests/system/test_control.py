"""A detector's device and the control of its programs on Kubernetes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import tango

from penstock.hosts.child import free_port
from tests.cluster.control_process import ControlProcess
from tests.cluster.kubernetes_stub import Kubernetes
from tests.system.accounts import check_account
from tests.system.beamline import ON, Beamline, Station, until, wait_state

pytestmark = pytest.mark.slow
WORKERS = "eiger-spots-workers"


def series(station: Station) -> None:
    """A sound series."""
    file = station.new_file()
    station.set(nTriggers=3, DestinationFilename=str(file))
    station.detector.Arm()
    wait_state(station.detector, ON)
    check_account(station, file, 3, stored=3)


def test_arm_wakes_workers_and_restart_receiver_restarts_the_pod(beamline: Beamline, tmp_path: Path) -> None:
    http = f"127.0.0.1:{free_port()}"
    station = Station(
        beamline, "kube", unit={"ControlUrl": f"http://{http}", "ReceiverAway": 60.0}, on_terminate="resume"
    )

    def pods(name: str, count: int) -> None:
        if name == "eiger-receiver":
            station.receiver.start() if count else station.receiver.stop()

    try:
        series(station)
        until(lambda: f"control at http://{http} does not answer" in station.detector.Status(), "it is away")
        with closing(Kubernetes(tmp_path, {"eiger-receiver": 1, WORKERS: 0}, pods=pods)) as kubernetes:
            control = ControlProcess(
                tmp_path, kubernetes, name="kube", http=http, idle="2h",
                receiver={"deployment": "eiger-receiver", "url": station.receiver.url},
                pipelines=[{
                    "name": "spots", "url": f"http://127.0.0.1:{free_port()}",
                    "workers": {"deployment": WORKERS, "count": 4},
                }],
            )  # fmt: skip
            with closing(control):
                control.part("spots/workers", lambda part: part.state == "asleep")
                series(station)
                control.part("spots/workers", lambda part: part.running == 4)
                until(lambda: "control" not in station.detector.Status(), "it is there")

                station.detector.RestartReceiver()
                control.part("receiver", lambda part: part.state == "running")
                until(lambda: "control" not in station.detector.Status(), "the receiver is back")
                assert kubernetes.patches == [(WORKERS, 4), ("eiger-receiver", 0), ("eiger-receiver", 1)]
                until(lambda: station.receiver.client.status().connections[0].connections, "connected")
                series(station)

                kubernetes.may_end.clear()
                station.detector.RestartReceiver()  # goes on by itself
                words = (
                    f"restarted by the control at http://{http}: the restart waits until 1 pod of eiger-rec"
                )
                until(lambda: words in station.detector.Status(), "Status says for what it waits")
                kubernetes.may_end.set()
                until(lambda: "control" not in station.detector.Status(), "the receiver is back")

                kubernetes.named.remove("eiger-receiver")
                with pytest.raises(tango.DevFailed) as refused:
                    station.detector.RestartReceiver()
                error = refused.value.args[0]
                assert error.reason == "Penstock_not_restarted"
                assert f"not restarted by the control at http://{http}: Kubernetes was asked" in error.desc
                assert "the Role does not name Deployment eiger-receiver" in error.desc
    finally:
        beamline.end(station.server)
