"""Views of members' channels."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.view.members import AwaitedOperation, CommitteeMember, MembersPeek, TreeRow
from sdschat.tui.lens.members import checkpoint, clock, tree
from sdschat.tui.lens.view_input import plain
from sdschat.tui.model.words import ASCII, UNICODE
from tests.tui.lens.looking import ROOM, looking


def test_operations_without_anything_to_settle_are_told_as_such_and_refusals_in_words(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            answer = TreeRow("bob", 4, "", False, False, False)
            refused = {"from strangers": 2}
            peek = MembersPeek("data", True, 12, "hash", 3, (), (), (), (answer,), None, refused)
            seen = look.eye._view_input(ROOM, None, "", 400, UNICODE)._replace(members=peek)
            text = "\n".join(map(plain, checkpoint(seen)))
            assert "in front of it: 1 operation, which carries nothing to settle" in text
            assert "2 from strangers" in text
            said = peek._replace(tree=(answer, answer._replace(what="say")))
            text = "\n".join(map(plain, checkpoint(seen._replace(members=said))))
            assert "in front of it: 2 operations\n" in text

    asyncio.run(story())


def test_clocks_name_the_members_and_nobody_who_is_gone(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            bob = CommitteeMember(4, look["bob"].node.sender_id, 9, 0, 8, {0: 71, 1: 72, 4: 9})
            peek = MembersPeek("data", True, 12, "hash", 3, (), (), (bob,), (), None, {})
            seen = look.eye._view_input(ROOM, None, "", 100, UNICODE)._replace(members=peek)
            text = "\n".join(map(plain, clock(seen))).replace(seen.who(bob.sender_id), "bob")
            assert "9" in text
            assert not {"slot", "71", "72"} & set(text.split())  # the digits of an id may have them

    asyncio.run(story())


def test_what_is_missing_is_told_with_its_writer(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            bob = look["bob"].node.sender_id
            missing = (AwaitedOperation(bob, 17, 312_000, 3),)
            peek = MembersPeek("data", True, 12, "hash", 3, (), missing, (), (), None, {})
            seen = look.eye._view_input(ROOM, None, "", 100, UNICODE)._replace(members=peek)
            text = "\n".join(map(plain, checkpoint(seen)))
            assert f"Operation 17 of {seen.who(bob)} has been missing for 5m; 3 operations wait for it." in text
            kept = "\n".join(map(plain, checkpoint(seen._replace(members=peek._replace(missing=())))))
            assert "has been missing" not in kept

    asyncio.run(story())


def test_the_clocks_begin_with_who_has_not_shown_to_have_everything(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob", "carol") as look:
            bob, carol = (look[nick].node.sender_id for nick in ("bob", "carol"))
            members = (CommitteeMember(1, bob, 9, 0, 8, {1: 9, 2: 4}), CommitteeMember(2, carol, 5, 0, 8, {1: 9, 2: 5}))
            peek = MembersPeek("data", True, 12, "hash", 3, (), (), members, (), None, {})
            seen = look.eye._view_input(ROOM, None, "", 100, UNICODE)._replace(members=peek)
            assert plain(clock(seen)[0]) == f"Not shown yet to have everything that is here: {seen.who(bob)}."
            both = (members[0]._replace(clock={1: 9, 2: 5}), members[1])
            assert "have everything" in plain(clock(seen._replace(members=peek._replace(committee=both)))[0])

    asyncio.run(story())


def test_operations_stand_below_the_names_of_their_columns_and_a_branch_is_explained(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            rows = (TreeRow("bob", 4, "say", False, False, False), TreeRow("bob", 5, "", True, False, False))
            peek = MembersPeek("data", True, 12, "hash", 3, (), (), (), rows, None, {})
            seen = look.eye._view_input(ROOM, None, "", 100, UNICODE)._replace(members=peek)
            title, names, *drawn = map(plain, tree(seen))
            assert title == "2 operations not compacted yet, oldest first"
            assert [names.index(each) for each in ("number", "carries")] == [
                drawn[0].index(each) for each in ("4", "say")
            ]
            assert drawn[0].startswith(" │")
            assert not any("branch" in each for each in drawn)
            branched = peek._replace(tree=(rows[0], rows[1]._replace(branches=True)))
            text = "\n".join(map(plain, tree(seen._replace(members=branched, glyphs=ASCII))))
            assert "\\ is a branch" in text
            assert text.isascii()

    asyncio.run(story())
