"""Tests of what a node tells of packets that its broker takes and refuses."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.channel.broker_answers import BrokerAnswers
from sdschat.node.events import ConnectionChanged, HandedOver, NotPublished, SendingResumed, TroubleMet
from sdschat.sds.state import Packet
from sdschat.transport.base import Failure, ProbeUnanswered, PublishFailed, SubscribeRefused
from tests.node.worlds import world


def test_after_a_refusal_it_is_told_once_that_packets_are_taken_again() -> None:
    answers = BrokerAnswers()
    assert answers.taken("") is None
    assert answers.failed("", Failure.REFUSED, "no") == NotPublished("", "refused", "no")
    assert answers.taken(None) is None  # those of the channel are refused still
    assert answers.taken("") == SendingResumed()
    assert answers.taken("") is None
    answers.failed(None, Failure.REFUSED, "no")
    assert answers.taken("id") == HandedOver("id")
    assert answers.taken(None) == SendingResumed()
    answers.failed("", Failure.NOT_CONNECTED, "no connection")
    assert answers.taken("") is None


def test_a_sync_message_that_the_broker_takes_ends_a_refusal(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            await ann.until(ConnectionChanged, lambda told: told.state == "connected")
            session = ann.node.sessions["lobby"]
            session._heard(PublishFailed("", Failure.REFUSED, "The broker refused to pass this on: Not authorized."))
            session.publish([Packet(b"any", "sync", "of no message")])
            await ann.until(SendingResumed)

    asyncio.run(story())


def test_a_subscription_that_the_broker_refuses_is_told_once(tmp_path: Path) -> None:
    """The words of the transport name the topic already."""

    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            ann.node.sessions["lobby"]._heard(SubscribeRefused("sds/1/lobby/msg", "refused: sds/1/lobby/msg"))
            assert [told.detail for told in ann.of(TroubleMet)] == ["refused: sds/1/lobby/msg"]

    asyncio.run(story())


def test_that_the_broker_may_forbid_us_to_read_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            session = ann.node.sessions["lobby"]
            session._heard(ProbeUnanswered("sds/1/!echo/a", ""))
            session._heard(ProbeUnanswered("sds/1/!echo/a", "nothing comes"))
            await ann.until(TroubleMet)
            assert [told.detail for told in ann.of(TroubleMet)] == ["nothing comes"]

    asyncio.run(story())
