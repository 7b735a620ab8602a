"""The stages of a pipeline: plain frames of one streamer, or one image of several modules."""

from __future__ import annotations

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.connection.arrivals import Arrivals, SeveralSockets
from penstock.receiver.process import transform_files
from penstock.receiver.process.memory import Budget
from penstock.receiver.series.collector import Collector
from penstock.receiver.series.frame_entry import FrameEntry
from penstock.receiver.series.sink import Sink
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.steps.chain import Chain


def of(config: ReceiverConfig, sink: Sink, budget: Budget) -> tuple[Arrivals, FrameProcessor, Collector]:
    """Return the source of messages, the processor of frames, and the collector that feeds the sink."""
    source = config.source
    if source.join == "modules":
        return _of_modules(config, sink, budget)
    chain = Chain(config.transforms, budget, transform_files.read_and_log) if config.transforms else None
    processor = FrameProcessor(chain, config.workers, budget)
    entry = FrameEntry(sink, processor, source.frame_origin)
    arrivals = SeveralSockets(config) if source.sockets > 1 else Arrivals(config)
    return arrivals, processor, Collector(config, sink, entry)


def _of_modules(
    config: ReceiverConfig, sink: Sink, budget: Budget
) -> tuple[Arrivals, FrameProcessor, Collector]:
    from penstock.receiver.merge.arrivals import ModuleArrivals
    from penstock.receiver.series.module_entry import ModuleEntry
    from penstock.receiver.transforms.module_processor import ModuleProcessor

    processor = ModuleProcessor(config.transforms, config.workers, budget, transform_files.read_and_log)
    entry = ModuleEntry(sink, processor, config)
    # A module may be behind the others, and what is partial by now may still become whole.
    end_lost_after = max(2 * config.gap.seconds, config.source.join_seconds)
    collector = Collector(config, sink, entry, end_lost_after)
    return ModuleArrivals(config, entry.has), processor, collector
