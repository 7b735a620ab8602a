"""The process that records channels, as the pipeline's HTTP process starts it, and what it has recorded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.processing.channels.recorder import Settings
from penstock.processing.channels.recording import News, Reader, Recording
from penstock.processing.config.pipeline_config import ChannelConfig
from tests.system.beamline import until as until_it_is


def until(condition: Callable[[], Any]) -> None:
    until_it_is(condition, "what the recorder has said and recorded", 60)


class RecorderProcess:
    """The recorder, once it is started, and a reader of its recording.

    Args:
        environment: of the process.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.recording = Recording()
        self.reader = Reader(self.recording.places)
        self.news: dict[int, News] = {}
        self.values: dict[int, list[tuple[int, float, float]]] = {}
        self.recorder: subprocess.Popen[bytes] | None = None

    def record(self, *channels: ChannelConfig) -> None:
        settings = msgspec.json.encode(Settings(self.recording.places, channels)).decode()
        self.recorder = subprocess.Popen(
            [sys.executable, "-P", "-m", "penstock.processing.channels.recorder", settings],
            stdin=subprocess.PIPE, env=self.environment,
        )  # fmt: skip

    def read(self) -> None:
        for news in self.reader.news():
            self.news[news.channel] = news
        for channel, number, moment, value in self.reader.values().tolist():
            self.values.setdefault(channel, []).append((number, moment, value))

    def says(self, channel: int, text: str) -> bool:
        self.read()
        news = self.news.get(channel)
        return news is not None and text in f"{news.how}|{news.problem}"

    def has(self, channel: int, count: int) -> bool:
        self.read()
        return len(self.values.get(channel, [])) >= count

    def close(self) -> None:
        if self.recorder is not None:
            assert self.recorder.stdin is not None
            self.recorder.stdin.close()
            assert self.recorder.wait(20) == 0
        self.reader.close()
        self.recording.close()
