"""Joining a private channel: invites that are used up, waiting for a member, and what the newcomer is told."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from sdschat.identity.private.roster import SignedOperation
from sdschat.node.events import EpochChanged, MessageDelivered, NotAMember, PresenceChanged
from sdschat.node.private.operations import joinings_of, refusal_words
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.private import privacy, removable
from sdschat.sds.events import StateChanged, SyncReceived
from sdschat.sds.values import AckState
from tests.node.privately import (
    announcements,
    creator,
    known_of_us,
    link_of,
    log,
    operation_lines,
    private,
    said,
    say,
    three,
    three_of_whom_carol_is_removed,
    until,
    until_said,
    without_carol,
)
from tests.node.worlds import Member, World, world
from tests.transport.worlds import run

UNANSWERED = "joined; waits until a member confirms it"


def test_who_comes_by_an_invite_from_before_a_removal_is_told_so_by_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The removal takes no place in the log there, since what it follows is under the new key."""

    async def scenario() -> None:
        announcements(monkeypatch)
        async with world(tmp_path) as here:
            made = await without_carol(here)
            dora = here.start("dora", made.link)
            say(dora, "may I?")
            assert "before the key of the channel was changed" in (await dora.until(NotAMember)).why
            assert dora.of(NotAMember)[1:] == []

    run(scenario)


async def _link_of_whom_nobody_answers(here: World) -> str:
    """Remove carol, then bob, and return a link from after that, once nobody is there any more."""
    ann, bob, carol = await three_of_whom_carol_is_removed(here)
    await carol.node.close(0.1)
    private(ann).remove(bob.node.sender_id)
    await bob.until(NotAMember)
    link = link_of(ann)
    for each in (ann, bob):
        await each.node.close(0.1)
    return link


def test_whose_new_invite_nobody_answered_yet_is_not_told_that_it_is_of_no_use(tmp_path: Path) -> None:
    """Carol knows operations of others, from before the removal, and not yet what came after her own."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            link = await _link_of_whom_nobody_answers(here)
            carol = here.start("carol", link)
            await carol.until(MessageDelivered, lambda body: body.said.own)
            assert "no member of garden" in refusal_words(*known_of_us(carol))

    run(scenario)


def own_operations(member: Member) -> tuple[bytes, Iterable[SignedOperation]]:
    return private(member).own_key, private(member).operations.in_log.values()


def test_who_waits_for_an_answer_joins_once_however_often_the_program_starts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            link = await _link_of_whom_nobody_answers(here)
            for channel in (link, "garden", link):
                carol = here.start("carol", channel)
                await until([carol], lambda each: len(joinings_of(*own_operations(each))) == 2)
                assert private(carol).is_unanswered
                await carol.node.close(0.1)

    run(scenario)


def test_who_joins_after_a_removal_while_nobody_is_there_reads_that_they_wait_and_then_that_they_joined(
    tmp_path: Path,
) -> None:
    """The line said that the invite was older than the key. A second newcomer knows no better."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three_of_whom_carol_is_removed(here)
            link, by_bob = link_of(ann), link_of(bob)
            for each in (ann, bob, carol):
                await each.node.close(0.1)
            dora, erik = here.start("dora", link), here.start("erik", by_bob)
            for one in (dora, erik):
                await until([one], lambda each: len(log(each)) >= 2)
                assert set(operation_lines(one)) == {UNANSWERED}
                say(one, "anybody here?")
            here.start("ann", "garden")
            await until([dora, erik], lambda each: operation_lines(each).count("joined the channel") >= 2)
            await until([dora, erik], lambda each: UNANSWERED not in operation_lines(each))
            await until([dora, erik], lambda each: private(each).is_member)

    run(scenario)


def test_who_joins_by_a_members_invite_while_nobody_is_there_reads_that_they_wait(tmp_path: Path) -> None:
    """The line said that the invite was by somebody who is not a member: how bob joined is not here yet."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            link = link_of(bob)
            for each in (ann, bob, carol):
                await each.node.close(0.1)
            dora = here.start("dora", link)
            await until([dora], lambda each: log(each) != [])
            assert operation_lines(dora) == [UNANSWERED]
            here.start("ann", "garden")
            await until([dora], lambda each: operation_lines(each).count("joined the channel") == 3)

    run(scenario)


def test_nor_is_that_told_where_another_newcomer_is_here_who_knows_no_better(tmp_path: Path) -> None:
    """The invite was said to be of no use, and nothing could be said, as soon as anybody was known to have joined."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            by_ann, by_bob = link_of(ann), link_of(bob)
            for each in (ann, bob, carol):
                await each.node.close(0.1)
            dora, erik = here.start("dora", by_bob), here.start("erik", by_ann)
            await until([dora], lambda each: len(private(each).roster.members) == 2)
            assert private(dora).is_unanswered
            lines = {UNANSWERED, "joined the channel"}  # a turn after they count
            await until([dora], lambda each: set(operation_lines(each)) == lines)
            say(dora, "anybody here?")
            here.start("ann", "garden")
            await until([dora, erik], lambda each: len(private(each).roster.members) == 5)
            await until_said(erik, "anybody here?")

    run(scenario)


def test_whose_joining_was_acknowledged_is_confirmed_also_alone_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, name = creator(here)
            link = link_of(ann)
            bob = here.start("bob", link)
            await bob.until(StateChanged, lambda body: body.state is AckState.ACKED)
            for each in (ann, bob):
                await each.node.close(0.1)
            for who, where, unconfirmed in (("bob", "garden", False), ("dora", link, True), ("ann", "garden", False)):
                alone = here.start(who, where)
                await until([alone], lambda each: log(each) != [])
                state = privacy(alone.node, name)
                assert state is not None
                assert (who, state.unconfirmed) == (who, unconfirmed)
                await alone.node.close(0.1)

    run(scenario)


def test_a_joining_is_confirmed_by_a_member_who_has_it_and_not_by_one_who_is_here(tmp_path: Path) -> None:
    """A member who is here may know that the invite was used up; the head said that nothing was missing."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, name = creator(here)
            bob = here.start("bob", link_of(ann))
            Injection(bob.node, name).share("loss", 1.0, "out")
            await bob.until(PresenceChanged, lambda body: body.sender_id == ann.node.sender_id)
            await bob.until(SyncReceived)
            before = privacy(bob.node, name)
            Injection(bob.node, name).share("loss", 0.0, "out")
            await bob.until(StateChanged, lambda body: body.state is AckState.ACKED)
            after = privacy(bob.node, name)
            assert before is not None
            assert after is not None
            assert (before.unconfirmed, after.unconfirmed) == (True, False)

    run(scenario)


async def by_one_link(here: World) -> tuple[Member, str, Member, Member]:
    """Return ann, her channel, and bob and carol, who come by a link for one: carol is no member."""
    ann, name = creator(here)
    link = link_of(ann, uses=1)
    bob = here.start("bob", link)
    await ann.until(MessageDelivered, lambda body: body.said.nick == "bob")
    return ann, name, bob, here.start("carol", link)


def test_an_invite_that_is_used_up_lets_nobody_in_and_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _, bob, carol = await by_one_link(here)
            say(carol, "let me in")
            found = await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
            assert found.said.opened.text == (
                "could not join: the invite was used up. The link has the key: carol can read what is written here, "
                "until the creator or an admin makes a new key with /remove carol"
            )
            say(bob, "later")
            await until_said(ann, "later")
            assert "let me in" not in said(ann)
            told = await carol.until(NotAMember)
            assert told.why == (
                "your invite is of no use: the invite was used up. Ask for a new one. Until then you read by the link "
                "alone, and nobody is shown what you write"
            )

    run(scenario)


def test_whoever_reads_by_a_used_up_link_is_removed_with_a_new_key(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, name, bob, carol = await by_one_link(here)
            await ann.until(MessageDelivered, lambda body: body.said.nick == "carol")
            say(ann, "carol reads this by the link")
            await until_said(carol, "carol reads this by the link")
            await ann.node.close(0.1)
            ann = here.start("ann", name)  # no key of an outsider is kept
            assert removable(ann.node, name, "carol") == carol.node.sender_id
            with pytest.raises(ValueError, match="member without rights"):
                removable(bob.node, name, "carol")
            private(ann).remove(carol.node.sender_id)
            await bob.until(EpochChanged)
            say(ann, "carol does not read this")
            await until_said(bob, "carol does not read this")
            say(bob, "nor this")
            await until_said(ann, "nor this")
            assert private(ann).outsiders() == {}
            assert said(carol) == ["carol reads this by the link"]

    run(scenario)


def test_the_reason_why_one_is_no_member_is_told_again_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            _, name, _, carol = await by_one_link(here)
            why = (await carol.until(NotAMember)).why
            assert why.startswith("your invite is of no use: the invite was used up.")
            await carol.node.close(0.1)
            carol = here.start("carol", name)
            assert (await carol.until(NotAMember)).why == why

    run(scenario)


def test_a_removed_member_who_takes_the_same_link_again_is_told_of_the_removal(tmp_path: Path) -> None:
    """It said that no member had confirmed it yet, and what was written went to nobody."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, _ = creator(here)
            link = link_of(ann)
            carol = here.start("carol", link)
            await until([ann], lambda each: len(private(each).roster.members) == 2)
            private(ann).remove(carol.node.sender_id)
            await carol.until(NotAMember)
            await carol.node.close(0.1)
            carol = here.start("carol", link)
            assert "An invite from before lets nobody in" in (await carol.until(NotAMember)).why
            with pytest.raises(ValueError, match="You are no member"):
                private(carol).require_voice()

    run(scenario)


def test_who_was_removed_while_away_comes_in_again_by_a_new_link_at_once(tmp_path: Path) -> None:
    """By carol's own log she was a member when she came. So she did not join, and nobody was shown what she wrote. The
    joining of dan, which came before her removal, even made her forget the link."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            link = link_of(ann)
            await carol.node.close(0.1)
            here.members.remove(carol)
            here.start("dan", link)
            await until([ann, bob], lambda each: len(private(each).roster.members) == 4)
            private(ann).remove(carol.node.sender_id)
            await bob.until(EpochChanged)
            carol = here.start("carol", link_of(ann))
            await until([carol], lambda each: len(private(each).roster.members) == 4)
            say(carol, "I am in again")
            await until_said(bob, "I am in again")
            assert carol.of(NotAMember) == []

    run(scenario)


def test_a_later_link_is_kept_until_its_key_is_known_to_be_the_one_in_use(tmp_path: Path) -> None:
    """By her own log carol is a member, and joins again: after that she would not come in by it any more, as when the
    program is started again."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            await carol.node.close(0.1)
            private(ann).remove(carol.node.sender_id)
            await bob.until(EpochChanged)
            link = link_of(ann)
            for each in (ann, bob):
                await each.node.close(0.1)
            here.members.clear()
            carol = here.start("carol", link)
            await carol.until(MessageDelivered, lambda body: body.said.own)
            assert private(carol).is_member
            assert private(carol).record.link == link
            here.start("ann", private(carol).record.name)
            await until([carol], lambda each: not private(each).record.link)
            assert private(carol).is_member

    run(scenario)


def test_no_number_of_a_key_is_told_at_the_start_by_a_log_that_ends_before_it(tmp_path: Path) -> None:
    """The log of who was removed ends there: the key of a later link has a number that it cannot know."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three_of_whom_carol_is_removed(here)
            await carol.node.close(0.1)
            private(ann).remove(bob.node.sender_id)
            await until([ann], lambda each: private(each).roster.epoch_number == 3)
            link = link_of(ann)
            for each in (ann, bob):
                await each.node.close(0.1)
            here.members.clear()
            carol = here.start("carol", link)
            await carol.until(MessageDelivered, lambda body: body.said.own)
            assert carol.of(EpochChanged) == []

    run(scenario)


@pytest.mark.parametrize("away", [False, True])
def test_who_was_removed_comes_in_again_after_another_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, away: bool
) -> None:
    """Nothing in carol's log says that the key of the new link is a later one than hers: dan's removal came under a key
    that she never had. So she wrote with the key from before her own removal, and nobody listened."""

    async def scenario() -> None:
        announcements(monkeypatch)
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            dan = here.start("dan", link_of(ann))
            await until([ann, bob, carol], lambda each: len(private(each).roster.members) == 4)
            if not away:
                private(ann).remove(carol.node.sender_id)
                await carol.until(NotAMember)
            await carol.node.close(0.1)
            here.members.remove(carol)
            if away:
                private(ann).remove(carol.node.sender_id)
            await until([bob], lambda each: private(each).roster.epoch_number == 2)
            private(ann).remove(dan.node.sender_id)
            await until([bob], lambda each: private(each).roster.epoch_number == 3)
            carol = here.start("carol", link_of(bob))
            say(carol, "I am in again")
            await until_said(ann, "I am in again")
            await until([ann, bob, carol], lambda each: len(private(each).roster.members) == 3)

    run(scenario)


def test_a_link_from_before_the_removal_is_told_to_be_of_no_use(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            link = link_of(ann)
            await carol.node.close(0.1)
            here.members.remove(carol)
            private(ann).remove(carol.node.sender_id)
            await bob.until(EpochChanged)
            carol = here.start("carol", link)
            await carol.until(NotAMember)
            with pytest.raises(ValueError, match="no member"):
                private(carol).require_voice()
            assert [line for line in operation_lines(ann) if line.startswith("could not join")] == []

    run(scenario)
