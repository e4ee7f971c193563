"""Operations of private channels as values: who is told what, what is sealed with which key, and what is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.identity.content import ContentKind, seal
from sdschat.identity.packets import epoch_key
from sdschat.identity.place import place_of
from sdschat.identity.private.link import accept, epoch_mark, make_link, read_link
from sdschat.identity.private.roster import Member, Rank, Roster, SignedOperation
from sdschat.node.private import known_operations
from sdschat.node.private.announcing import ANNOUNCE_AFTER, AnnouncementTimer
from sdschat.node.private.known_operations import KnownOperations
from sdschat.node.private.operations import epoch_of_message, is_given, is_older_than_epoch, position_of, withholds_key
from sdschat.node.private.record import PrivateRecord, take_link
from sdschat.sds.values import Draft, Message, Reason, Refusal
from sdschat.transport.sealing import NO_EPOCH
from sdschat.wire.private_codec import encode_operation
from tests.identity.channels import Person, channel, everybody

FIRST, SECOND = bytes(32), bytes([1]) * 32


class Values(dict[str, bytes]):
    """A database with one record."""

    def value(self, name: str) -> bytes | None:
        return self.get(name)

    def values(self, prefix: str = "") -> dict[str, bytes]:  # type: ignore[override]
        return {name: value for name, value in self.items() if name.startswith(prefix)}


def test_a_removal_that_has_no_share_for_us_withholds_no_key_from_us() -> None:
    """Newcomers read all removals from before they joined, and would be told each time that they cannot read."""
    world, persons = channel(3)
    ann, bob, carol = persons
    removal = world.log[ann.remove(carol)].operation
    late = Person(world, channel(4)[1][3].identity)
    assert not withholds_key(late.identity, removal)
    assert not withholds_key(carol.identity, removal)
    assert not withholds_key(bob.identity, removal)


def said_at(lamport: int, message_id: str = "ab") -> Message:
    return Message("ann", message_id, "garden", lamport, (), content=b"text")


def test_whoever_joined_is_given_what_stands_at_its_place_or_behind_it() -> None:
    _, (ann, _) = channel(2, since_join=True)
    key, sender = ann.identity.public_key, ann.identity.sender_id
    roster = Roster(members={key: Member(key, Rank.MEMBER, False, (7, "b"))})
    given = {place: is_given(roster, sender, said_at(*place)) for place in ((6, "z"), (7, "a"), (7, "b"), (7, "c"))}
    assert given == {(6, "z"): False, (7, "a"): False, (7, "b"): True, (7, "c"): True}
    assert not is_given(roster, "somebody else", said_at(9))


def test_an_epoch_begins_behind_the_removal_that_ends_the_one_before() -> None:
    roster = Roster(epochs=[((3, "a"), ("first",)), ((7, "b"), ("second",))])
    older = {place: is_older_than_epoch(roster, said_at(*place)) for place in ((4, "a"), (7, "a"), (7, "b"), (7, "c"))}
    assert older == {(4, "a"): True, (7, "a"): True, (7, "b"): True, (7, "c"): False}
    assert position_of(said_at(7, "b")) == roster.epochs[-1][0]
    assert not is_older_than_epoch(Roster(), said_at(1))


def test_an_old_message_whose_key_is_not_here_is_not_sent_but_an_operation_is() -> None:
    """From the operations everybody learns who is a member; they are no secret of a newcomer."""
    world, (ann, _) = channel(2, since_join=True)
    roster, joined = ann.roster, (world.now, "")
    old = Message("ann", "ab", "garden", world.now - 1, (), content=b"text")
    assert epoch_of_message(roster, {}, old, joined) == NO_EPOCH
    assert epoch_of_message(roster, {b"": FIRST}, old, joined) == epoch_key(FIRST).epoch_id
    assert epoch_of_message(roster, {}, replace(old, lamport_timestamp=world.now), joined) is None
    draft, text = Draft(world.now - 1, (), None), encode_operation(next(iter(world.log.values())).operation)
    content = seal(
        ann.identity,
        "garden",
        text,
        nick="ann",
        sent_time=1,
        nonce=bytes(8),
        place=place_of(bytes(8), 1, "", draft),
        kind=ContentKind.OPERATION,
    )
    assert epoch_of_message(roster, {}, replace(old, content=content), joined) is None
    assert epoch_of_message(roster, {}, Refusal(Reason.UNREADABLE, "ann", "", ""), joined) == NO_EPOCH


def test_a_second_link_with_another_key_takes_the_place_of_one_that_was_of_no_use_yet() -> None:
    """Whoever took a forged link first can come by the honest one. Who is in by a key keeps to it."""
    world, (ann, _) = channel(2)
    links = [make_link(ann.identity, world.genesis, secret, bytes(32)) for secret in (FIRST, SECOND)]
    kept = take_link(Values(), links[0], 0)
    assert (kept.secrets, kept.present) == ({b"": FIRST}, b"")
    with_link = Values({f"private/{kept.name}": _saved(kept)})
    assert take_link(with_link, links[1], 0).secrets == {b"": SECOND}
    within = Values({f"private/{kept.name}": _saved(replace(kept, link=""))})
    with pytest.raises(ValueError, match="another key"):
        take_link(within, links[1], 0)


def test_an_old_link_does_not_take_us_back_to_its_key() -> None:
    world, (ann, _) = channel(2)
    later = make_link(ann.identity, world.genesis, SECOND, bytes(32), epoch=b"later...")
    kept = take_link(Values(), later, 0)
    old = make_link(ann.identity, world.genesis, FIRST, bytes(32))
    again = take_link(Values({f"private/{kept.name}": _saved(replace(kept, link=""))}), old, 0)
    assert (again.present, again.secrets[b""]) == (b"later...", FIRST)


def test_a_member_who_lacks_the_newest_key_seals_with_the_last_one_and_who_comes_back_with_that_of_its_link() -> None:
    world, persons = channel(3)
    ann, bob, carol = persons
    ann.remove(carol)
    everybody([ann, bob])
    roster, newest = ann.roster, epoch_mark(ann.roster.epoch)
    record = PrivateRecord(world.genesis, {b"": FIRST}, b"")
    assert record.epoch_in_use(roster, bob.key, {b"": FIRST, newest: SECOND}) == newest
    of_links = {b"": FIRST, b"first...": FIRST, b"second..": SECOND}
    assert record.epoch_in_use(roster, bob.key, of_links) == b""
    assert record.epoch_in_use(roster, carol.key, of_links) == b"second.."


def test_what_is_heard_and_has_no_place_in_the_log_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_operations, "_HEARD", 3)
    monkeypatch.setattr(known_operations, "_IDLE", 3)
    world, (ann, bob) = channel(2)
    link = ann.link(uses=1)
    assert link is not None
    join = accept(read_link(link, 0), bob.identity)
    known = KnownOperations(world.genesis, ())
    for number in range(9):
        signed = SignedOperation(number, f"{number:064x}", bob.key, join, "forged" if number % 2 else "")
        assert known.hear(signed, b"", ann.roster) is not bool(number % 2)
    assert len(known.every()) == 3
    assert [known.take_idle(f"{number:064x}") for number in (1, 3, 5, 7)] == ["", "forged", "forged", "forged"]


def test_an_operation_that_takes_its_place_in_the_log_is_one_operation() -> None:
    world, (ann, _) = channel(2)
    (signed,) = world.log.values()
    known = KnownOperations(world.genesis, ())
    known.hear(signed, b"packet", ann.roster)
    known.add(signed)
    assert (known.every(), known.heard(signed.message_id)) == ([signed], None)


def test_a_removal_of_our_own_is_announced_at_once_and_makes_no_later_one_rarer() -> None:
    timer = AnnouncementTimer()
    for at in range(3):
        timer.at_once(at)
        assert timer.begin_due(at)
    timer.ask(1_000_000, doubtful=True)
    assert timer.due is not None
    assert timer.due < 1_000_000 + 2 * ANNOUNCE_AFTER
    assert timer._pause == 10_000


def _saved(record: PrivateRecord) -> bytes:
    class Kept:
        value = b""

        def set_value(self, _: str, value: bytes) -> None:
            self.value = value

    kept = Kept()
    record.save(kept)  # type: ignore[arg-type]
    return kept.value
