"""The verdict on a receiver or a streamer that does not answer: dead, or its series goes on meanwhile.

What counts is the data connection between them, of which each side tells: frames that still arrive are worth
more than an HTTP interface that does not answer, or a network that is interrupted for a while.
"""

from __future__ import annotations

from penstock.devices._series.machine.draft import Draft
from penstock.devices._series.machine.facts import Facts, Lasting
from penstock.devices._series.machine.states import SeriesState


def is_streamer_dead(facts: Facts, now: float) -> bool:
    """Return whether the streamer no longer answers, and is not to be waited for."""
    if not facts.streamer_lost:
        return False
    may_live = facts.remote and (facts.receiver_silence is not None or facts.receiver_is_connected)
    return not may_live or facts.streamer_silent(now) > facts.limits.streamer_timeout


def is_receiver_dead(draft: Draft) -> bool:
    """Return whether the receiver no longer answers, and is not to be waited for."""
    facts, limits, peers = draft.facts, draft.facts.limits, draft.facts.peers
    refuses = facts.receiver_refuses
    gone = draft.lasts(Lasting.RECEIVER_GONE, refuses and peers == 0) > limits.receiver_gone
    refused = draft.lasts(Lasting.RECEIVER_REFUSES, refuses and peers is None) > limits.receiver_refuses
    if gone or refused:
        return True
    if peers and facts.view.state is not SeriesState.CLOSING:
        return False
    return facts.receiver_silent(draft.now) > limits.receiver_timeout


def waits_for_another(facts: Facts) -> str:
    """Return for whom the receiver waits before it takes any series, as it says; "" for nobody."""
    status = facts.receiver_status
    if status is None or facts.receiver_silence is not None or status.connections:
        return ""
    return status.waits_for


def warning(facts: Facts, now: float) -> str:
    """Return a sentence about the side that does not answer, or takes nothing; "" while both do."""
    return (
        of_streamer(facts, now)
        or _of_receiver(facts, now)
        or waits_for_another(facts)
        or _stalled(facts)
        or _of_network(facts)
    )


def of_streamer(facts: Facts, now: float) -> str:
    """Return a sentence about a streamer that does not answer; "" while it does."""
    if not facts.streamer_lost:
        return ""
    return (
        f"The streamer has not answered for {facts.streamer_silent(now):.0f} s: is the network "
        f"interrupted? It is given up after {facts.limits.streamer_timeout:g} s."
    )


def of_absent_receiver(draft: Draft) -> str:
    """Return a sentence about a receiver that does not answer between series; "" while it does."""
    silence = draft.facts.receiver_silence
    is_away = draft.lasts(Lasting.RECEIVER_ABSENT, silence is not None) > draft.facts.limits.silence_shown
    return silence or "" if is_away else ""


def unconnected(facts: Facts) -> str:
    """Return a warning that no receiver is connected to the streamer; "" if one is."""
    status = facts.own_streamer_status
    if status is None or status.peers:
        return ""
    if status.peers is None:
        if facts.receiver_status is None or facts.receiver_is_connected:
            return ""
        return "The receiver is not connected to the detector's stream; frames wait in the detector."
    if facts.receiver_silence is None:
        return "No receiver is connected to the streamer; frames wait there."
    return "No receiver is connected, and it does not answer."


def _of_receiver(facts: Facts, now: float) -> str:
    silent, limits = facts.receiver_silent(now), facts.limits
    if silent < limits.silence_shown:
        return ""
    if facts.peers and facts.view.state is not SeriesState.CLOSING:
        then = "It is still connected to the streamer, and the series goes on."
    elif facts.receiver_refuses:
        limit = limits.receiver_refuses if facts.peers is None else limits.receiver_gone
        then = f"Nobody listens at its address; it is given up after {limit:g} s (property ReceiverAway)."
    else:
        then = f"It is given up after {limits.receiver_timeout:g} s."
    return f"The receiver has not answered for {silent:.0f} s. {then}"


def _of_network(facts: Facts) -> str:
    status = facts.receiver_status
    silent = max((each.silent_seconds for each in status.connections), default=0) if status else 0
    if silent < facts.limits.silence_shown or facts.receiver_silence is not None:
        return ""
    return (
        f"The host that sends the frames has not answered the receiver for {silent} s: is the network "
        "interrupted? The series goes on when it is back."
    )


def _stalled(facts: Facts) -> str:
    """Return a warning that the receiver takes no frames at present; "" if it does."""
    status = facts.receiver_status
    if status is None or not status.stalled or facts.receiver_silence is not None:
        return ""
    where = (
        "in the detector" if facts.own_stream
        else f"at the streamer, {facts.buffers_used:.0%} of whose buffers are used"
    )  # fmt: skip
    return (
        f"The receiver's data process has not answered for {status.stalled:.0f} s (is its file system "
        f"hanging?); frames wait {where}."
    )
