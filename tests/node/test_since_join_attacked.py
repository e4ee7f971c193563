"""Channels that give nothing older to those who join, under attack by programs of members and others."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from pathlib import Path

import pytest

from sdschat.identity.content import ContentKind
from sdschat.identity.packets import SECRET_BYTES
from sdschat.identity.private.link import LinkError, accept, epoch_mark, make_link, read_link
from sdschat.identity.signing import SEED_BYTES, Identity
from sdschat.node.events import HandedOver, MessageDelivered, NotAMember
from sdschat.node.private.record import take_link
from sdschat.node.sync import extension
from sdschat.sds.values import Message
from sdschat.transport.base import Received
from sdschat.wire.private_codec import encode_operation
from tests.node.privately import link_of, private, say
from tests.node.test_private_outsiders import CODEC, packet
from tests.node.test_since_join import (
    OLD,
    keys,
    on_disk,
    opened_with_all_keys,
    run,
    settled,
    start,
    stop,
    talked,
    unasked,
    until_said,
)
from tests.node.worlds import PATIENCE, World


def test_a_member_on_another_machine_sends_nothing_older_that_a_newcomer_can_read(tmp_path: Path) -> None:
    """An imported identity has the messages, by pages for its key, and lacks the secrets of their epochs."""

    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        link = link_of(ann)
        await stop(w, bob)
        key, copy = (w.path(profile).parent / "identity.key" for profile in ("bob", "machine"))
        copy.parent.mkdir(parents=True)
        copy.write_bytes(key.read_bytes())
        copy.chmod(0o600)
        bob = w.start("bob", link, profile="machine", before=extension.install)
        await until_said(OLD[0], bob)
        old = [message_id for _, message_id in keys(bob)]
        say(bob, "on another machine")
        await until_said("on another machine", ann)
        carol = start(w, "carol", link_of(ann))
        await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
        await settled(ann, bob, carol)
        (session,) = bob.node.sessions.values()
        for message_id in old:  # as if carol had asked for it
            row = session.channel.state.history.row(message_id)
            assert row is not None
            session.transport.publish(private(bob)._msg_topic, row.raw)
        await asyncio.sleep(0.3)
        assert all(text.encode() not in opened_with_all_keys(carol, heard) for text in OLD)
        assert b"on another machine" in opened_with_all_keys(bob, heard)

    run(tmp_path, story)


def test_a_profile_restored_from_before_an_invite_gives_nothing_older_away(tmp_path: Path) -> None:
    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        await stop(w, ann)
        folder = w.path("ann").parent
        shutil.copytree(folder, tmp_path / "backup")
        ann = start(w, "ann", "garden")
        carol = start(w, "carol", link_of(ann))
        await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
        say(ann, "after carol joined")
        await until_said("after carol joined", bob, carol)
        await stop(w, ann)
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "backup", folder)
        ann = start(w, "ann", "garden")
        say(ann, "restored")
        await until_said("restored", bob, carol)
        await settled(ann, bob, carol)
        assert private(ann).roster.epoch == private(bob).roster.epoch
        assert all(text.encode() not in opened_with_all_keys(carol, heard) for text in OLD)
        dora = start(w, "dora", link_of(ann))
        await ann.until(MessageDelivered, lambda body: body.said.nick == "dora")
        assert b"restored" not in opened_with_all_keys(dora, heard)

    run(tmp_path, story)


def test_who_was_removed_and_is_invited_again_gets_nothing_of_between(tmp_path: Path) -> None:
    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        private(ann).remove(bob.node.sender_id)
        await bob.until(NotAMember)
        say(ann, "without bob")
        await ann.until(MessageDelivered, lambda body: body.said.opened.text == "without bob")
        link = link_of(ann)
        await stop(w, bob)
        bob = start(w, "bob", link)
        async with asyncio.timeout(PATIENCE):
            while not private(ann).has(bob.node.sender_id):
                await asyncio.sleep(0.05)
        say(ann, "with bob again")
        await until_said("with bob again", bob)
        await settled(ann, bob)
        assert b"without bob" not in opened_with_all_keys(bob, heard) + on_disk(bob)
        assert OLD[0].encode() in on_disk(bob)

    run(tmp_path, story)


def test_who_was_removed_puts_no_joinings_into_logs(tmp_path: Path) -> None:
    """Joinings under an earlier key are taken, of those who were invited before a later invite."""

    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        private(ann).remove(bob.node.sender_id)
        await bob.until(NotAMember)
        await settled(ann, bob)
        before = keys(ann)
        own, his = bob.node.gate.identity, unasked(bob)
        for _ in range(5):
            seed, mark = secrets.token_bytes(SEED_BYTES), epoch_mark(his.roster.epoch)
            link = make_link(own, his.record.genesis, bytes(SECRET_BYTES), seed, epoch=mark)
            sent = his._write(accept(read_link(link, 0), own)).message_id
            await bob.until(HandedOver, lambda told, sent=sent: told.message_id == sent)  # type: ignore[misc]
        await asyncio.sleep(0.5)
        assert keys(ann) == before

    run(tmp_path, story)


def test_joinings_under_an_earlier_key_that_are_of_no_use_cost_next_to_nothing(tmp_path: Path) -> None:
    """To compute the members takes time, and anybody with an earlier key may sign any number of these."""

    async def story(w: World, heard: list[Received]) -> None:
        ann, _ = await talked(w)
        here, mallory, seed = private(ann), Identity(b"m" * 32), bytes(SEED_BYTES)
        genesis, mark = here.record.genesis, epoch_mark(here.roster.epoch)
        computed: list[int] = []
        folded = here.operations.folded
        here.operations.folded = lambda *more: [computed.append(1), folded(*more)][1]  # type: ignore[assignment,func-returns-value]
        own, good = ann.node.gate.identity, read_link(link_of(ann), 0)
        computed.clear()
        links = [
            make_link(mallory, genesis, bytes(SECRET_BYTES), seed, epoch=mark),
            make_link(own, genesis, bytes(SECRET_BYTES), seed, epoch=b"nowhere."),
        ]
        useless = [accept(read_link(link, 0), mallory) for link in links]
        useless.append(accept(good, mallory)._replace(proof=bytes(64)))
        for join in useless:
            sent = packet(ann, mallory, encode_operation(join), ContentKind.OPERATION)
            message = CODEC.decode(sent)
            assert isinstance(message, Message)
            assert not here.joins(message)
        assert computed == []
        message = CODEC.decode(packet(ann, mallory, encode_operation(accept(good, mallory)), ContentKind.OPERATION))
        assert isinstance(message, Message)
        assert here.joins(message)

    run(tmp_path, story)


def test_a_forged_link_does_not_take_the_place_of_a_key(tmp_path: Path) -> None:
    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        anybody, record = Identity(secrets.token_bytes(SEED_BYTES)), private(bob).record
        for mark in record.secrets:
            seed = secrets.token_bytes(SEED_BYTES)
            link = make_link(anybody, record.genesis, bytes(SECRET_BYTES), seed, epoch=mark)
            with pytest.raises(LinkError, match="another key"):
                take_link(bob.node.profile.store, link, 0)
        honest = link_of(ann)
        assert take_link(bob.node.profile.store, honest, 0).link == honest

    run(tmp_path, story)


def test_no_line_says_that_an_invite_is_of_no_use_while_nobody_is_there(tmp_path: Path) -> None:
    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        link = link_of(bob)
        await settled(ann, bob)
        await stop(w, ann)
        await stop(w, bob)
        carol = start(w, "carol", link)
        await asyncio.sleep(0.3)
        private(carol)._tell_refusal()
        told = await carol.until(NotAMember)
        assert "no member of garden~" in told.why
        assert "confirmed your invite yet" in told.why
        bob = start(w, "bob", "garden")
        say(bob, "hello")
        await until_said("hello", carol)
        assert private(carol).is_member

    run(tmp_path, story)


def test_who_is_put_out_while_members_were_apart_is_told(tmp_path: Path) -> None:
    """Ann removes bob while dora, apart, invites carol: the new key was not sealed for carol."""

    async def story(w: World, heard: list[Received]) -> None:
        ann, bob = await talked(w)
        dora = start(w, "dora", link_of(ann))
        await ann.until(MessageDelivered, lambda body: body.said.nick == "dora")
        await settled(ann, bob, dora)
        await stop(w, ann)
        carol = start(w, "carol", link_of(dora))
        await dora.until(MessageDelivered, lambda body: body.said.nick == "carol")
        await settled(dora, carol, bob)
        for each in (dora, bob, carol):
            await stop(w, each)
        ann = start(w, "ann", "garden")
        private(ann).remove(bob.node.sender_id)
        await asyncio.sleep(0.3)
        dora, carol = start(w, "dora", "garden"), start(w, "carol", "garden")
        await carol.until(NotAMember)
        say(dora, "hello")
        await until_said("hello", ann)
        assert private(ann).roster.epoch == private(dora).roster.epoch
        assert len(private(ann).roster.members) == 2

    run(tmp_path, story)
