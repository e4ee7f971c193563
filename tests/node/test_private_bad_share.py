"""An admin whose removal keeps the new key from a member who stays."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.identity.private import link
from sdschat.identity.private.roster import Rank
from sdschat.identity.signing import seal_for
from tests.node.privately import operation_lines, private, say, three, until, until_said
from tests.node.worlds import world


def test_the_creator_whom_an_admin_gives_no_key_is_told_and_removes_the_admin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The creator could not open what followed, and nobody heard of any removal of theirs: two logs for ever."""

    async def scenario() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            private(ann).appoint(bob.node.sender_id, True)
            await until([bob], lambda each: private(each).roster.rank(private(each).own_key) is Rank.ADMIN)
            dan = here.start("dan", private(ann).invite(ann.node.clock.now().wall))
            await until([ann, bob, carol, dan], lambda each: len(private(each).roster.members) == 4)
            of_ann = private(ann).own_key
            with monkeypatch.context() as patched:
                patched.setattr(link, "seal_for", lambda key, secret: seal_for(key, key if key == of_ann else secret))
                private(bob).remove(carol.node.sender_id)
            await until([ann, bob, dan], lambda each: len(private(each).roster.members) == 3)
            await until([ann, dan], lambda each: operation_lines(each)[-1].startswith("removed carol"))
            assert "gave you none that opens" in operation_lines(ann)[-1]
            assert "gave you none" not in operation_lines(dan)[-1]
            private(ann).remove(bob.node.sender_id)
            await until([ann, dan], lambda each: len(private(each).roster.members) == 2)
            say(ann, "by ann")
            say(dan, "by dan")
            await until_said(dan, "by ann")
            await until_said(ann, "by dan")

    asyncio.run(scenario())
