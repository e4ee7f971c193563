"""A message reads from the database as it was shown when it came."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.identity.content import ContentKind
from sdschat.node.events import MessageDelivered
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import shown_of
from tests.node.worlds import world


def test_a_message_reads_from_the_database_as_it_was_shown_when_it_came(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            first = ann.node.send("lobby", "hello").message_id
            await bob.until_texts("hello")
            bob.node.send("lobby", "waves", kind=ContentKind.ACTION, reply_to=first)
            for member in (ann, bob):
                await member.until_texts("hello", "waves")
                view = Conversations(member.node)
                for event in member.of(MessageDelivered):
                    now = shown_of(event.said, 0, event.via)
                    later = view.channel("lobby").message(now.message_id)
                    assert later is not None
                    assert later._replace(received_at=0, state=now.state) == now
                view.close()

    asyncio.run(story())
