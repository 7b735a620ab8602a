"""What is said of one series: its status, and what it waits for."""

from __future__ import annotations

from penstock.processing import models
from penstock.processing.distributor.series.run import Phase, Run
from penstock.stins.texts import plural


def waits_for(run: Run, receiver: str) -> str:
    """Return what a series waits for, in a sentence; "" for frames, or nothing."""
    if run.phase is Phase.BEGINNING:
        return f"the receiver at {receiver} to say where series {run.name} is kept"
    if run.phase is Phase.LIVE and run.stream_is_over and run.end is None and run.over is None:
        rest = f"are taken from {run.file} then" if run.file is not None else "are dropped: it has no file"
        return (
            f"the end of series {run.name}: the connection to the receiver was lost within it, and frames "
            f"that did not come {rest}"
        )
    if run.phase is Phase.ENDED:
        return f"the receiver at {receiver} to close {run.file or 'its file'}"
    if (joining := run.joining) is not None and joining.needs and (held := joining.held):
        return (
            f"values of {', '.join(joining.needs)}, which {plural(held, 'frame')} need: is the device "
            f"running? After {joining.wait:g} s a frame goes without"
        )
    if run.phase is Phase.REST and run.is_settled and run.joining is not None and run.joining.waits:
        return f"late values of its channels, for {run.joining.wait:g} s at most"
    if run.phase is Phase.FINISHING:
        return "a worker, which makes the results of the series as a whole"
    return ""


def status(run: Run, receiver: str, prepares: str = "") -> models.Series:
    """Return the status of a series.

    Args:
        run: the series.
        receiver: whose series it is.
        prepares: what its workers prepare before its first frame; a sentence, or "".
    """
    waits = waits_for(run, receiver)
    is_open = run.phase is not Phase.OVER
    said = [*run.said, *(run.refusals if is_open else [])]
    reason = "; ".join(said[-3:]) or (f"waits for {waits}" if waits else prepares)
    return models.Series(
        id=run.name, active=is_open, file=run.file, planned=run.account.planned,
        rows=run.account.reach, counts=run.account.counts, from_file=run.rest.queued,
        reason=reason[:500], result_file=run.store.path or run.finished,
        whole_error=run.whole_error[:500],
        unmatched={} if run.joining is None else dict(run.joining.unmatched),
    )  # fmt: skip
