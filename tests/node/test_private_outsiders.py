"""Tests of somebody who has the key of a private channel, by a link that was used up, and is no member of it."""

from __future__ import annotations

import secrets
from pathlib import Path
from random import Random

import pytest

from sdschat.cli.channels import state_words
from sdschat.identity.content import ContentKind, OpenedContent, Verdict, seal
from sdschat.identity.key_book import KeyStanding
from sdschat.identity.place import place_of
from sdschat.identity.private.link import accept, make_link, read_link
from sdschat.identity.private.roster import USED_UP, SignedOperation, fold, idle_reason
from sdschat.identity.signing import Identity
from sdschat.node.channel.sender_limits import SenderLimits
from sdschat.node.events import (
    DirectRefused,
    DirectSaid,
    EphemeralSaid,
    MembersChanged,
    MessageDelivered,
    MessageWithheld,
    NotAMember,
    OperationsReworded,
    OverLimit,
    PresenceChanged,
)
from sdschat.node.node import Node
from sdschat.node.private import known_operations, shown_messages
from sdschat.node.private.operations import outsiders
from sdschat.node.private.record import create_private, load_operations, private_state
from sdschat.node.sync import extension
from sdschat.node.sync.extension import sync_extension
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import conversation_id
from sdschat.sds.events import StateChanged
from sdschat.sds.ids import content_id
from sdschat.sds.values import Draft, HistoryEntry, Message
from sdschat.wire.private_codec import Genesis, encode_operation
from sdschat.wire.sds_codec import SdsCodec
from tests.identity.channels import Person, channel, everybody
from tests.node.privately import link_of, private, said, say, until_said
from tests.node.worlds import Member, World, world
from tests.transport.worlds import run

CODEC = SdsCodec()
MALLORY = Identity(b"m" * 32)


async def used_up(here: World) -> tuple[Member, Member, str]:
    """Return ann, bob who joined by a link for one, and that link."""

    def make(node: Node) -> None:
        extension.install(node)
        create_private(node.profile.store, node.gate.identity, "garden")

    ann = here.start("ann", "garden", before=make)
    link = link_of(ann, uses=1)
    bob = here.start("bob", link, before=extension.install)
    say(bob, "hello ann")
    await until_said(ann, "hello ann")
    return ann, bob, link


def packet(
    member: Member,
    key: Identity,
    text: str,
    kind: ContentKind = ContentKind.TEXT,
    lamport: int | None = 0,
    history: tuple[HistoryEntry, ...] = (),
) -> bytes:
    """Return a message by this key, dated now. Without a Lamport time it is ephemeral."""
    (name,) = member.node.sessions
    lamport = member.node.clock.now().wall if lamport == 0 else lamport
    place = place_of(secrets.token_bytes(8), 1, "", Draft(lamport, history, None))
    nonce = secrets.token_bytes(8)
    content = seal(key, name, text, nick="mal", sent_time=1, nonce=nonce, place=place, kind=kind)
    return CODEC.encode(Message(key.sender_id, content_id(content), name, lamport, history, content=content))


def hear(members: list[Member], heard: bytes) -> None:
    for member in members:
        (session,) = member.node.sessions.values()
        session.receive(heard, "live")


def test_those_who_read_by_a_link_alone_are_named_members_and_others_are_not() -> None:
    """Also who was removed before: nothing else takes the key from them."""
    world, (ann, bob, carol) = channel(3)
    ann.remove(carol)
    once = ann.link(uses=1)
    assert once is not None
    dora = Person(world, MALLORY)
    dora.join(once)
    tried = [carol.join(once), bob.join(once)]
    everybody([ann, bob, carol, dora])
    found = outsiders(ann.roster, [(each, "") for each in world.log.values()])
    assert list(found) == [carol.identity.sender_id]
    assert ann.roster.outcomes[tried[0]] == ann.roster.outcomes[tried[1]] == USED_UP


def test_nothing_ephemeral_of_an_outsider_is_shown(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, _ = await used_up(here)
            hear([ann], packet(ann, MALLORY, "not from a member", lamport=None))
            bob.node.say(next(iter(bob.node.sessions)), "from a member", ephemeral=True)
            await ann.until(EphemeralSaid, lambda body: body.said.opened.text == "from a member")
            assert len(ann.of(EphemeralSaid)) == 1

    run(scenario)


def test_nothing_ephemeral_is_shown_that_a_member_did_not_sign_nor_of_an_archive(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, _ = await used_up(here)
            key, members = bob.node.gate.identity.public_key, private(ann).roster.members
            said_by_bob = OpenedContent(Verdict.KNOWN, "hello", ContentKind.TEXT, "bob", key)
            assert private(ann).has_voice(said_by_bob)
            assert not private(ann).has_voice(said_by_bob._replace(verdict=Verdict.BAD_SIGNATURE))
            members[key] = members[key]._replace(silent=True)
            assert not private(ann).has_voice(said_by_bob)

    run(scenario)


def test_an_outsider_is_not_named_and_acknowledges_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, link = await used_up(here)
            await bob.node.close(0.1)
            mal = here.start("mal", link, before=extension.install)
            outsider = mal.node.sender_id
            await ann.until(PresenceChanged, lambda body: body.sender_id == outsider)
            await mal.until(NotAMember)  # from here on an honest program says nothing
            own = ann.node.send(next(iter(ann.node.sessions)), "who has this?")
            has_it = (HistoryEntry(own.message_id, None, own.sender_id),)
            later = (own.lamport_timestamp or 0) + 1
            hear([ann], packet(ann, mal.node.gate.identity, "I have", lamport=later, history=has_it))
            await ann.until(StateChanged, lambda body: outsider in body.unproven)
            assert not [body for body in ann.of(StateChanged) if outsider in body.by]
            assert {body.nick for body in ann.of(PresenceChanged) if body.sender_id == outsider} == {""}
            view = Conversations(ann.node)
            channel = view.channel(next(iter(ann.node.sessions)))
            assert outsider not in channel.present()
            assert outsider not in {person.sender_id for person in channel.people()}
            view.close()

    run(scenario)


def test_an_outsider_is_told_so_in_the_list_of_channels(tmp_path: Path) -> None:
    """Key and number of members stood there, as for somebody who is one of them."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            _, bob, link = await used_up(here)
            mal = here.start("mal", link, before=extension.install)
            await mal.until(NotAMember)
            (name,) = mal.node.sessions
            listed = [
                state_words(private_state(one.node.profile.store, name), None, one.node.sender_id) for one in (bob, mal)
            ]
            assert listed == ["  private, key 1, 2 members", "  private, you are not a member: a new link lets you in"]

    run(scenario)


def test_to_one_who_was_removed_nobody_is_here_in_a_conversation_of_two(tmp_path: Path) -> None:
    """The head of @ann said *here*, though nothing can be sent to ann any more."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, _ = await used_up(here)
            view = Conversations(bob.node)
            with_ann = view.direct(conversation_id(ann.node.sender_id))
            assert with_ann.partner().online
            private(ann).remove(bob.node.sender_id)
            await bob.until(NotAMember)
            assert not with_ann.partner().online
            view.close()

    run(scenario)


def test_an_outsider_writes_to_nobody(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, link = await used_up(here)
            (name,) = ann.node.sessions
            mal = here.start("mal", link, before=extension.install)
            await mal.until(PresenceChanged, lambda body: body.sender_id == ann.node.sender_id)
            sync_extension(mal.node, name).direct.send(ann.node.sender_id, "not from a member")
            refused = await ann.until(DirectRefused)
            assert (refused.sender_id, refused.why) == (mal.node.sender_id, "they are no member of this channel")
            await bob.until(PresenceChanged, lambda body: body.sender_id == ann.node.sender_id)
            with pytest.raises(ValueError, match="is no member of garden~"):
                sync_extension(ann.node, name).direct.send(mal.node.sender_id, "to no member")
            sync_extension(bob.node, name).direct.send(ann.node.sender_id, "from a member")
            assert (await ann.until(DirectSaid)).opened.text == "from a member"
            assert len(ann.of(DirectSaid)) == 1

    run(scenario)


def test_of_the_texts_and_joinings_of_outsiders_a_few_are_kept_and_no_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, link = await used_up(here)
            invite = read_link(link, 0)
            operations = len(private(ann).operations.in_log)
            keys = [Identity(secrets.token_bytes(32)) for _ in range(100)]
            for number, key in enumerate(keys):
                hear([ann], packet(ann, MALLORY, f"text {number}"))
                hear([ann], packet(ann, key, encode_operation(accept(invite, key)), ContentKind.OPERATION))
            say(bob, "after")
            await until_said(ann, "after")
            assert 0 < len(ann.of(MessageWithheld)) <= 25
            assert sum("could not join" in text for text in ann.texts()) <= 25
            assert len(private(ann).operations.in_log) == operations
            book = ann.node.gate.book
            assert not [key for key in keys if book.standing(key.sender_id) & KeyStanding.KEPT]
            assert len(private(ann).roster.members) == 2
            carol = here.start("carol", link_of(ann, uses=1))
            await ann.until(MembersChanged, lambda body: carol.node.sender_id in body.members)

    run(scenario)


def test_of_joinings_that_may_count_yet_the_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_operations, "_USELESS", 8)

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, link = await used_up(here)
            (name,), of_link = ann.node.sessions, read_link(link, 0)
            keys = [Identity(secrets.token_bytes(32)) for _ in range(20)]
            for key in keys:  # each invites another one, and nobody invited them
                invite = read_link(make_link(key, of_link.genesis, of_link.epoch_secret, secrets.token_bytes(32)), 0)
                hear([ann], packet(ann, key, encode_operation(accept(invite, key)), ContentKind.OPERATION))
            say(bob, "after")
            await until_said(ann, "after")
            kept = load_operations(ann.node.profile.store, name)
            assert sum(each.author_key in {key.public_key for key in keys} for each in kept) == 8
            assert {each.message_id for each in kept} == private(ann).operations.in_log.keys()

    run(scenario)


def test_of_what_is_not_shown_the_ids_that_came_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be shown later."""
    monkeypatch.setattr(shown_messages, "_WITHHELD", 3)

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, _ = await used_up(here)
            shown, found = private(ann).shown, []
            for text in ("one", "two", "three", "four"):
                say(bob, text)
                await until_said(ann, text)
                found.append(ann.of(MessageDelivered)[-1].said)
            for each in found:
                shown.withhold(each)
            assert shown.withheld == tuple(each.message.message_id for each in found[1:])

    run(scenario)


def test_what_was_kept_as_an_id_is_fetched_once_its_author_is_known_to_be_a_member(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, _ = await used_up(here)
            (session,) = bob.node.sessions.values()
            session.reception._limits_of_outsiders = SenderLimits(0, 0)
            joining = encode_operation(accept(read_link(link_of(ann), 0), MALLORY))
            join = packet(ann, MALLORY, joining, ContentKind.OPERATION)
            texts = [f"text {number}" for number in range(12)]
            for text in texts:
                hear([ann, bob], packet(ann, MALLORY, text, lamport=ann.node.clock.now().wall + 5))
            await ann.until(OverLimit)
            assert not set(texts) & set(said(ann))
            hear([ann, bob], join)
            for text in texts:
                await until_said(ann, text)

    run(scenario)


def test_a_line_about_a_joining_follows_what_comes_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _, _ = await used_up(here)
            (name,) = ann.node.sessions
            inviter, guest = (Identity(secrets.token_bytes(32)) for _ in range(2))
            of_ann, seed = read_link(link_of(ann), 0), secrets.token_bytes(32)
            of_inviter = read_link(make_link(inviter, of_ann.genesis, of_ann.epoch_secret, seed), 0)
            first = packet(ann, inviter, encode_operation(accept(of_ann, inviter)), ContentKind.OPERATION)
            later = ann.node.clock.now().wall + 10
            second = packet(ann, guest, encode_operation(accept(of_inviter, guest)), ContentKind.OPERATION, later)
            hear([ann], second)
            told = await ann.until(MessageDelivered, lambda body: "could not join" in (body.said.opened.text or ""))
            assert "the invite is by somebody who is not a member" in (told.said.opened.text or "")
            hear([ann], first)
            (message_id,) = (await ann.until(OperationsReworded)).message_ids
            view = Conversations(ann.node)
            shown = view.channel(name).message(message_id)
            assert shown is not None
            assert (shown.sender_id, shown.text) == (guest.sender_id, "joined the channel")
            view.close()

    run(scenario)


def test_joinings_that_count_for_nothing_change_nothing_whatever_comes_before_and_after() -> None:
    chance, creator = Random(16), Identity(bytes([1]) * 32)
    joiners = [Identity(bytes([number]) * 32) for number in range(2, 12)]
    genesis = Genesis(creator.public_key, bytes(16), "garden", False)
    skipped = 0
    for _ in range(200):
        links = [
            read_link(make_link(creator, genesis, bytes(32), chance.randbytes(32), uses=uses), 0) for uses in (1, 2, 0)
        ]
        made = [
            SignedOperation(chance.randrange(100), f"{number:064x}", key.public_key, accept(chance.choice(links), key))
            for number, key in enumerate(chance.choice(joiners) for _ in range(12))
        ]
        kept: list[SignedOperation] = []
        for each in made:
            idle = idle_reason(genesis, fold(genesis, kept), each)
            skipped += bool(idle)
            kept += [] if idle else [each]
        whole, part = fold(genesis, made), fold(genesis, kept)
        assert whole.members == part.members
        assert whole.changes == part.changes
        members = {each.author_key for each in made if not whole.outcomes[each.message_id]}
        assert all(whole.outcomes[one.message_id] or one.author_key in members for one in made if one not in kept)
    assert skipped > 200


def test_nobody_is_an_outsider_to_a_newcomer(tmp_path: Path) -> None:
    """Those who join do not know the members yet: they would keep only ids of most of the history."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, link = await used_up(here)
            dan = here.start("dan", link, before=extension.install)
            ids = [one.node.gate.identity.sender_id for one in (ann, bob)]
            assert not private(dan).is_member
            assert not any(map(private(dan).is_outsider, ids))
            assert not any(map(private(ann).is_outsider, ids))
            assert private(ann).is_outsider(dan.node.gate.identity.sender_id)

    run(scenario)
