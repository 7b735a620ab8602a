"""How long messages may be under way after the network was interrupted."""

from __future__ import annotations

from penstock.receiver.connection.connecting import Interruption
from penstock.stins.tcp import Silence

START = 1000.0


def test_a_silent_streamer_whose_host_answers_interrupts_nothing() -> None:
    interruption = Interruption()
    for second in range(100):
        interruption.observe(Silence(unanswered=0.0, without_data=second), START + second)
        assert not interruption.lasts(START + second)
        assert interruption.seconds == 0.0


def test_a_probe_that_is_on_its_way_is_no_interruption() -> None:
    interruption = Interruption()
    interruption.observe(Silence(unanswered=1.1, without_data=1.1), START)
    assert not interruption.lasts(START)


def test_it_lasts_until_data_come_again() -> None:
    interruption = Interruption()
    interruption.observe(Silence(unanswered=8.0, without_data=8.0), START)
    assert interruption.seconds == 8.0
    interruption.observe(Silence(unanswered=0.0, without_data=8.5), START + 0.5)
    assert interruption.seconds == 0.0
    assert interruption.lasts(START + 0.5), "the host answers, and sends again later"
    interruption.observe(Silence(unanswered=0.0, without_data=0.1), START + 3.0)
    assert not interruption.lasts(START + 3.0)


def test_it_is_over_when_the_streamer_would_have_sent_again() -> None:
    interruption = Interruption()
    interruption.observe(Silence(unanswered=8.0, without_data=8.0), START)
    interruption.observe(Silence(unanswered=0.0, without_data=15.0), START + 7.0)
    assert interruption.lasts(START + 7.0)
    interruption.observe(Silence(unanswered=0.0, without_data=17.0), START + 9.0)
    assert not interruption.lasts(START + 9.0)
