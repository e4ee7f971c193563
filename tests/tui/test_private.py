"""Private channels and verified people on the screen."""

from __future__ import annotations

import segno

from sdschat.identity.key_book import KeyStanding, NickClaimed
from sdschat.node.events import NodeEvent
from sdschat.node.members.opening import install
from tests.cli.test_private import BLOCKS, modules
from tests.tui.stage import Stage, staged


@staged("lobby", size=(100, 60))
async def test_a_channel_is_made_and_the_invite_is_read_back_from_the_screen(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("garden~")
    await stage.until_text("private, epoch 1")
    link, picture = await invited(stage)
    assert modules(picture) == matrix(link)


@staged("lobby", size=(100, 60), extends=install)
async def test_a_members_channel_that_is_private_says_both_and_invites_by_link_and_by_nick(stage: Stage) -> None:
    await stage.enter("/create garden private members")
    await stage.until_text("private members, epoch 1")
    link, picture = await invited(stage)
    assert modules(picture) == matrix(link)
    await stage.enter("the first post")
    await stage.until_text("the first post")
    await stage.enter_instead("/invite nobody")
    await stage.until_text("Nobody called nobody")


@staged("lobby", size=(100, 60), theme="light")
async def test_on_a_light_background_the_blocks_of_an_invite_are_the_dark_modules(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("private, epoch 1")
    link, picture = await invited(stage)
    exchanged = str.maketrans("█▀▄ ", " ▄▀█")
    assert modules([line.translate(exchanged) for line in picture]) == matrix(link)


async def invited(stage: Stage) -> tuple[str, list[str]]:
    """Make an invite. Return the link, and the lines of its picture on the screen."""
    copied: list[str] = []
    stage.app.copy = lambda text, what: copied.append(text)  # type: ignore[method-assign]
    await stage.enter("/invite 2 7d")
    await stage.settle()
    (link,) = copied
    picture = [line[2:] for line in stage.log() if len(part := line[2:].strip()) > 40 and set(part) <= set(BLOCKS)]
    width = max(map(len, picture))
    start = min(len(line) - len(line.lstrip()) for line in picture)
    return link, [line[start:].ljust(width - start) for line in picture]


def matrix(text: str) -> list[list[int]]:
    return [list(map(int, row)) for row in segno.make(text, error="l", micro=False).matrix]


@staged("lobby")
async def test_an_open_channel_has_no_invite_and_nobody_to_remove(stage: Stage) -> None:
    for line in ("/invite", "/remove bob", "/admin bob"):
        await stage.enter_instead(line)
        await stage.until_text("is an open channel")


@staged("lobby", peers=("bob",))
async def test_verified_people_have_a_mark_and_another_key_of_theirs_is_an_alarm(stage: Stage) -> None:
    stage.say("hello")
    await stage.until_text("hello")
    await stage.enter("/verify bob")
    await stage.until_text("see the same six words?")
    assert "bob≗" not in stage.text()
    await stage.enter("/verify bob yes")
    await stage.until_text("bob≗")
    bob = stage.peers["bob"].node
    assert stage.app.node.gate.book.standing(bob.sender_id) & KeyStanding.VERIFIED
    await stage.enter("/who")
    await stage.until_text(", verified")
    stage.app.model.hear(NodeEvent("lobby", 1, NickClaimed("f" * 32, "bob", "bob", bob.sender_id, True)), True)
    await stage.until_text("ALARM")
    await stage.enter("/verify bob no")
    await stage.until_text("not verified any more")
