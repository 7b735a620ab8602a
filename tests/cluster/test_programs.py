"""A real receiver, pipeline and workers, which a Kubernetes starts and ends as the control asks for."""

from __future__ import annotations

import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock.hosts.child import free_port
from tests.cluster.control_process import DEADLINE, ControlProcess
from tests.cluster.kubernetes_stub import Kubernetes
from tests.processing.test_process import Running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer

FRAMES = 30
DEPLOYMENTS = {"eiger-receiver": 1, "eiger-spots": 1, "eiger-spots-workers": 1}
NONE = dict.fromkeys(DEPLOYMENTS, 0)


class Pods:
    """The processes in the pods of one detector.

    Args:
        folder: for their files.
        endpoint: of the streamer.
    """

    def __init__(self, folder: Path, endpoint: str) -> None:
        self._folder, self._endpoint = folder, endpoint
        self._receiver_http, self._spots_http, port = (f"127.0.0.1:{free_port()}" for _ in range(3))
        self.receiver_url, self.spots_url = f"http://{self._receiver_http}", f"http://{self._spots_http}"
        self._listen, self._key = f"tcp://{port}", folder / "spots.key"
        subprocess.run(["penstock", "process", "--make-key", str(self._key)], check=True, capture_output=True)
        endpoint = f"tcp://127.0.0.1:{free_port()}"
        self._live = {"name": "live", "endpoint": endpoint, "shared": True, "queue_mb": 2}
        self.receiver: ReceiverProcess | None = None
        self.spots: Running | None = None
        self._workers: list[subprocess.Popen[bytes]] = []

    def change(self, name: str, count: int) -> None:
        """Let a Deployment have so many."""
        if name == "eiger-receiver":
            self._set_receiver(count)
        elif name == "eiger-spots":
            self._set_spots(count)
        else:
            self._set_workers(count)

    def _set_receiver(self, count: int) -> None:
        if self.receiver is not None:
            self.receiver.close()
            self.receiver = None
        if count:
            self.receiver = ReceiverProcess(
                self._folder, self._endpoint, http=self._receiver_http, forward=[self._live],
                on_terminate="resume",
            )  # fmt: skip

    def _set_spots(self, count: int) -> None:
        if self.spots is not None:
            _end(self.spots.process)
            self.spots = None
        if count:
            self.spots = Running(
                self._folder, self.receiver, workers=0, listen=self._listen, key=str(self._key),
                http=self._spots_http,
            )  # fmt: skip

    def _set_workers(self, count: int) -> None:
        while len(self._workers) > count:
            _end(self._workers.pop())
        while len(self._workers) < count:
            command = ["penstock", "worker", self._listen, "--key", str(self._key)]
            with (self._folder / "worker.log").open("ab") as log:
                worker = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            self._workers.append(worker)

    def close(self) -> None:
        """End all."""
        for name in reversed(DEPLOYMENTS):
            self.change(name, 0)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(DEADLINE)
    if process.stdout is not None:
        process.stdout.close()


@pytest.mark.slow
def test_a_series_goes_on_over_a_restart_and_brings_back_workers_that_were_taken_away(tmp_path: Path) -> None:
    with (
        closing(Streamer()) as streamer,
        closing(Pods(tmp_path, streamer.endpoint)) as pods,
        closing(Kubernetes(tmp_path, NONE, pods=pods.change)) as kubernetes,
    ):
        parts: dict[str, Any] = {
            "name": "eiger", "receiver": {"deployment": "eiger-receiver", "url": pods.receiver_url},
            "pipelines": [{
                "name": "spots", "deployment": "eiger-spots", "url": pods.spots_url,
                "workers": {"deployment": "eiger-spots-workers", "count": 2},
            }],
        }  # fmt: skip
        with closing(ControlProcess(tmp_path, kubernetes, **parts)) as control:
            control.client.start("receiver")
            control.part("receiver", lambda part: part.state == "running" and part.says == "idle")
            control.client.start("spots")
            control.client.start("spots/workers")
            part = control.part("spots/workers", lambda part: part.state == "running")
            assert (part.wanted, part.connected) == (2, 2)

            assert pods.receiver is not None and pods.spots is not None
            series = streamer.start(f"{pods.receiver.root}/a.h5", frames=FRAMES)
            for number in range(10):
                streamer.frame(number)
            pods.receiver.flushed(10)
            control.client.restart("receiver")
            control.part("receiver", lambda part: part.state == "ending")
            control.part("receiver", lambda part: part.state == "running" and part.says == "running")
            for number in range(10, FRAMES):
                streamer.frame(number)
            streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
            assert pods.receiver.ended(series).counts.stored == FRAMES
            assert pods.spots.over(series).series.counts.done == FRAMES  # type: ignore[union-attr]

            control.client.stop("spots")
            part = control.part("spots", lambda part: part.state == "off")
            assert part.sentence == ""
            part = control.part("spots/workers", lambda part: part.sentence.startswith("the pipeline"))
            assert part.running == 2
            control.client.start("spots")
            control.part("spots/workers", lambda part: part.state == "running")

        # the workers of a busy machine take longer than this to start: only now
        with closing(ControlProcess(tmp_path, kubernetes, idle="3s", **parts)) as control:
            part = control.part("spots/workers", lambda part: part.state == "asleep")
            assert (part.running, part.count) == (0, 2)
            second = streamer.series_of(f"{pods.receiver.root}/b.h5", FRAMES)
            control.part("spots/workers", lambda part: part.state == "running")
            assert pods.spots.over(second).series.counts.done == FRAMES  # type: ignore[union-attr]
