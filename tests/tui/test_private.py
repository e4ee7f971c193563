"""Private channels and verified people on the screen."""

from __future__ import annotations

import re

from sdschat.identity.key_book import KeyStanding, NickClaimed
from sdschat.node.events import NodeEvent
from sdschat.node.members.opening import install
from sdschat.node.private.links import link_broker
from sdschat.node.private.record import create_private
from sdschat.node.sharing.of_node import page_of
from sdschat.node.sync import extension
from sdschat.node.view.engine_snapshot import peek
from sdschat.node.view.private import is_shut_out
from sdschat.node.view.qr import qr_lines
from sdschat.tui.model.words import UNICODE
from tests.qr import BLOCKS, decoded
from tests.tui.stage import Stage, staged


@staged("lobby", size=(100, 60))
async def test_a_channel_is_made_and_the_invite_is_read_back_from_the_screen(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("garden~")
    await stage.until_text("private, key 1")
    await stage.until_text("by a link: /invite makes one")
    assert "sdschat join" not in stage.text()
    link, picture = await invited(stage)
    assert decoded(picture) == link


@staged("lobby", size=(100, 60))
async def test_an_invite_leads_to_the_broker_in_use_and_says_where_that_is_of_no_use_elsewhere(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("private, key 1")
    link, _ = await invited(stage)
    assert link_broker(link) == ""
    assert "is of use here alone: /help invite" in " ".join(" ".join(on_the_sheet(stage)).split())
    await stage.press("escape")
    stage.app.view.node.broker = "mqtt://broker.example:1883"  # as after a start with --broker
    link, _ = await invited(stage)
    assert link_broker(link) == "mqtt://broker.example:1883"
    assert "here alone" not in stage.text()


@staged("lobby", size=(120, 60))
async def test_a_channel_that_gives_nothing_older_says_so_and_each_invite_changes_its_key(stage: Stage) -> None:
    await stage.enter("/create garden since-join")
    await stage.until_text("private, history since joining, key 1")
    link, picture = await invited(stage)
    assert decoded(picture) == link
    await stage.press("escape")
    await stage.until_text("key 2")


@staged("lobby", size=(100, 60), extends=install)
async def test_a_members_channel_that_is_private_says_both_and_invites_by_link_and_by_nick(stage: Stage) -> None:
    await stage.enter("/create garden private members")
    await stage.until_text("private members, key 1")
    link, picture = await invited(stage)
    assert decoded(picture) == link
    await stage.enter("the first post")
    await stage.until_text("the first post")
    await stage.enter_instead("/invite nobody")
    await stage.until_text("Nobody called nobody")


@staged("lobby", size=(100, 60), extends=install)
async def test_the_kind_of_a_channel_may_stand_as_the_option_of_the_program(stage: Stage) -> None:
    """`/create garden --members` made a private channel called `garden --members`."""
    await stage.enter("/create garden --members")
    await stage.until_text("garden is a members' channel")
    assert stage.app.shown == "garden"
    await stage.enter("/create shed private")
    await stage.until_text("private, key 1")
    assert stage.app.shown.startswith("shed~")


@staged("lobby", size=(100, 60))
async def test_what_is_no_kind_of_a_channel_makes_none(stage: Stage) -> None:
    """It became part of the name."""
    for typed, hint in (
        ("/create my room", 'A name with spaces stands in quotes: /create "my room".'),
        ("/create garden --broker", "and not broker"),
        ("/create --members garden", "The name stands first: /create garden members."),
        ("/create garden members since-join", "since-join is for a channel without posts"),
    ):
        await stage.enter_instead(typed)
        assert hint in " ".join(stage.hint().split()), typed
    assert list(stage.app.order) == ["lobby"]
    await stage.enter_instead('/create "my room" private')
    await stage.until_text("my room~")


@staged("lobby", size=(160, 90), ascii_only=True)
async def test_with_ascii_the_picture_of_an_invite_is_ascii(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("private, key 1")
    await stage.enter("/invite")
    await stage.settle()
    assert stage.text().isascii()
    rows = [found[0] for row in on_the_sheet(stage) if (found := re.search("####.*####", row))]
    assert decoded(rows) == stage.app.clipboard
    await stage.press("escape")
    await stage.pilot.resize_terminal(80, 90)
    await stage.enter("/invite")
    await stage.settle()
    assert re.search(r"needs a terminal of \d+ lines and \d+ columns", " ".join(stage.text().split()))


@staged("lobby", size=(120, 30))
async def test_an_invite_to_a_channel_without_older_history_says_until_when_it_reads(stage: Stage) -> None:
    await stage.enter("/create garden since-join")
    await stage.until_text("history since joining, key 1")
    await stage.enter("/invite")
    await stage.until_text("until the next /invite or /remove")
    assert "prints one" not in stage.text(), "that one would have another key"


@staged("lobby", size=(120, 30))
async def test_a_picture_of_an_invite_that_has_no_room_says_how_many_lines_it_needs(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("private, key 1")
    await stage.enter("/invite 2 7d")
    await stage.settle()
    needed = re.search(r"needs a terminal of (\d+) lines", stage.text())
    assert needed is not None
    assert "sdschat invite --qr" in stage.text()
    assert not [row for row in on_the_sheet(stage) if "▄▄" in row], "a part of it is of no use"
    await stage.press("escape")
    await stage.pilot.resize_terminal(120, int(needed[1]))
    await stage.enter("/invite 2 7d")
    await stage.settle()
    rows = [row.strip() for row in on_the_sheet(stage)]
    picture = [row for row in rows if len(row) > 40 and set(row) <= set(BLOCKS)]
    assert len(picture) == len(qr_lines(stage.app.clipboard)), "at this height all of it is there"


@staged("lobby", size=(100, 60), theme="light")
async def test_on_a_light_background_the_blocks_of_an_invite_are_the_dark_modules(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("private, key 1")
    link, picture = await invited(stage)
    blocks = set("█▀▄")
    drawn = [segment for strip in stage.app.screen._compositor.render_strips() for segment in strip]
    inks = {each.style.color for each in drawn if each.style and set(each.text) & blocks and "▄▄" in each.text}
    assert len(inks) == 1  # no part of the picture looks like the first column of a table
    exchanged = str.maketrans("█▀▄ ", " ▄▀█")
    assert decoded([line.translate(exchanged) for line in picture]) == link


@staged("lobby", size=(100, 60))
async def test_an_invite_goes_away_with_esc_and_is_kept_in_no_log_and_no_file(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("private, key 1")
    await stage.enter("/log on")
    await stage.enter("the first post")
    await stage.until_text("the first post")
    link, picture = await invited(stage)
    assert link[:40] in stage.text()
    await stage.press("escape")
    await stage.settle()
    shown = stage.text()
    assert link[:40] not in shown
    assert picture[8] not in shown
    page = page_of(stage.app.node, stage.app.shown, 0, has_texts=True)
    assert "the first post" in page
    files = {path: path.read_bytes() for path in stage.world.folder.rglob("*") if path.is_file()}
    assert any(b"the first post" in raw for raw in files.values()), "the search finds what is kept"
    secret = link.removeprefix("sdschat:")[:40]
    assert secret not in page
    assert [path for path, raw in files.items() if secret.encode() in raw] == []


@staged("lobby", size=(100, 60), syncs=True)
async def test_a_removed_member_who_stays_connected_is_counted_nowhere(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("private, key 1")
    link, _ = await invited(stage)
    await stage.press("escape")
    bob, cleo = (stage.world.start(name, link, before=extension.install) for name in ("bob", "cleo"))
    await stage.until(lambda: len(stage.app.model.present) == 2, "both are here")
    await stage.until_text("3 here")
    garden = stage.app.shown
    cleo.node.send(garden, "so that there is a nick")
    await stage.until_text("so that there is a nick")
    await stage.enter("/admin bob")
    await stage.enter("/who")
    await stage.until_text("you made this channel; admins: bob.")
    assert [line.strip(" │").rpartition(", ")[2] for line in stage.lines() if "  bob  " in line] == ["admin"]
    await stage.press("escape")
    await stage.enter("/remove cleo")
    assert "cleo would be removed" in stage.hint()
    assert "/remove cleo yes does it." in stage.hint()
    assert "3 here" in stage.text(), "it asks first"
    await stage.enter_instead("/remove cleo yes")
    await stage.until_text("2 here")
    assert stage.hint() == "cleo is removed, and reads nothing that is written from now on, unless invited again."
    assert "this channel has a new key, its 2nd" in stage.text()
    assert cleo.node.sender_id in stage.app.node.sessions[garden].presence.online, "cleo's program stays"
    await stage.enter("bob alone reads this")
    await stage.until_text("bob alone reads this")
    tick = UNICODE.acked
    await stage.until(
        lambda: any("bob alone reads this" in line and line.endswith(tick) for line in stage.log()), "all have it"
    )
    assert stage.app.model.present == (bob.node.sender_id,)
    peers = peek(stage.app.node.sessions[garden], stage.app.node.sender_id, stage.app.node.clock.now()).peers
    assert [peer.sender_id for peer in peers] == [bob.node.sender_id]


@staged("lobby", size=(80, 24))
async def test_who_removes_the_last_other_member_is_told_what_that_means(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until_text("private")
    assert "alone here" in stage.lines()[0], "the number of the key is no reason to leave it out"
    await stage.enter("/invite 2 7d")
    await stage.settle()
    link = stage.app.clipboard
    await stage.press("escape")
    bob = stage.world.start("bob", link)
    await stage.until_text("2 here")
    bob.node.send(stage.app.shown, "hello from bob")
    await stage.until_text("hello from bob")
    await stage.enter("/ban bob")
    assert "bob would be banned" in stage.hint()
    await stage.enter_instead("/remove nobody yes")
    assert "is called nobody" in stage.hint()
    await stage.enter_instead("/ban bob yes")
    await stage.until_text("alone here")
    assert stage.hint().endswith("unless you invite them again. You are the only member now.")
    await stage.enter("said to nobody")
    await stage.until(lambda: any("said to nobody" in line and "no other member" in line for line in stage.log()))
    assert any("banned bob" in line and "no other member" in line for line in stage.log())
    assert "unacked" not in "\n".join(stage.log())
    await stage.press("alt+up")
    assert "You are the only member here, so nobody could confirm it" in stage.app.panes.said("details")


def on_the_sheet(stage: Stage) -> list[str]:
    """Return the rows of the sheet, without its frame, and without the lists beside it."""
    place = stage.app.sheet.region
    return [line.ljust(place.right)[place.x + 1 : place.right - 1] for line in stage.lines()]


async def invited(stage: Stage) -> tuple[str, list[str]]:
    """Make an invite. Return the link, and the lines of its picture on the screen."""
    await stage.enter("/invite 2 7d")
    await stage.settle()
    rows = on_the_sheet(stage)
    picture = [row for row in rows if len(row.strip()) > 40 and set(row) <= set(BLOCKS)]
    width = max(len(row.rstrip()) for row in picture)
    start = min(len(row) - len(row.lstrip()) for row in picture)
    return stage.app.clipboard, [row[start:].ljust(width)[: width - start] for row in picture]


@staged("lobby")
async def test_an_open_channel_has_no_invite_and_nobody_to_remove(stage: Stage) -> None:
    for line in ("/invite", "/remove bob", "/ban bob", "/admin bob"):
        await stage.enter_instead(line)
        await stage.until_text("is an open channel")


@staged("lobby", peers=("bob",))
async def test_verified_people_have_a_mark_and_another_key_of_theirs_is_an_alarm(stage: Stage) -> None:
    stage.say("hello")
    await stage.until_text("hello")
    await stage.enter("/verify bob")
    await stage.until_text("see the same six words?")
    assert "bob≗" not in stage.text()
    assert stage.app.sheet.display, "the words stay until Esc or the next line"
    assert stage.hint() == ""
    await stage.enter("/verify bob yes")
    await stage.settle()
    assert "six words?" not in stage.text()
    await stage.until_text("bob≗")
    bob = stage.peers["bob"].node
    assert stage.app.node.gate.book.standing(bob.sender_id) & KeyStanding.VERIFIED
    await stage.enter("/who")
    await stage.until_text(", verified")
    stage.app.model.hear(NodeEvent("lobby", 1, NickClaimed("f" * 32, "bob", "bob", bob.sender_id, True)), True)
    await stage.until_text("ALARM")
    await stage.enter("/verify bob no")
    await stage.until_text("not verified any more")


@staged("lobby", peers=("bob",), size=(100, 30))
async def test_somebody_who_is_here_and_wrote_nothing_yet_can_be_verified(stage: Stage) -> None:
    """Nobody who signed anything went by that nick, although the list of members showed it with its key."""
    await stage.until(lambda: len(stage.app.view.channel("lobby").people()) == 2, "bob is here")
    bob = stage.peers["bob"].node
    await stage.enter("/verify bob")
    await stage.until_text(f"Does bob ({bob.sender_id[:8]}) see the same six words?")
    await stage.enter("/verify bob yes")
    stage.say("hello")
    await stage.until(lambda: any("bob≗" in row and "hello" in row for row in stage.log()), "verified")


@staged("lobby", size=(60, 15))
async def test_at_60_columns_how_many_are_here_goes_before_the_number_of_the_key(stage: Stage) -> None:
    await stage.enter("/create garden")
    await stage.until(lambda: "garden~" in stage.lines()[0], "the channel")
    head = stage.lines()[0]
    assert "alone here" in head
    assert "F1 help" in head


@staged("lobby")
async def test_a_key_that_is_verified_is_not_called_new(stage: Stage) -> None:
    stage.world.start("bob", "lobby").node.send("lobby", "hello there")
    await stage.until(lambda: any("hello there" in row and "new key" in row for row in stage.log()), "new")
    await stage.enter("/verify bob yes")
    await stage.until(lambda: any("hello there" in row and "new key" not in row for row in stage.log()), "not new")


@staged("lobby", peers=("bob",), size=(120, 30), syncs=True)
async def test_who_was_removed_is_told_so_everywhere_and_writes_to_one_alone_by_another_channel(stage: Stage) -> None:
    """The list of channels said *nothing missing*, and a message to one alone went by the channel, to nobody."""
    bob, own = stage.peers["bob"].node, stage.app.node
    garden = bob.join(create_private(bob.profile.store, bob.gate.identity, "garden"))
    assert garden.private is not None
    await stage.enter("/join " + garden.private.invite(bob.clock.now().wall, uses=1, lasts=0))
    await stage.until_text("private, key 1")
    await stage.until(lambda: bob.sender_id in own.sessions[garden.name].presence.keys)
    await stage.enter("/msg bob hello")
    assert stage.app.conversation.channel == garden.name
    await stage.until_text("✓")
    garden.private.remove(own.sender_id)
    await stage.press("alt+2")
    await stage.until_text("you were removed from garden")
    assert stage.app.badge(garden.name) == "not a member, private"
    await stage.pilot.resize_terminal(80, 24)
    await stage.press("f3")
    drawn = [segment for strip in stage.app.screen._compositor.render_strips() for segment in strip]
    (in_sheet,) = (each.style for each in drawn if each.text == "not a member, private")
    assert in_sheet is not None
    assert in_sheet.color == stage.app.line_style.style("refused").color
    await stage.press("escape")
    await stage.enter("/msg bob why?")
    assert stage.app.conversation.channel == "lobby"
    await stage.until(lambda: sum("✓" in line for line in stage.log()) == 2)


@staged("lobby", peers=("bob",), size=(120, 30))
async def test_who_was_removed_comes_back_by_a_new_link_while_the_channel_is_open(stage: Stage) -> None:
    """Nothing happened, and nothing was said, until the channel was closed by /part and opened again."""
    bob, own = stage.peers["bob"].node, stage.app.node
    garden = bob.join(create_private(bob.profile.store, bob.gate.identity, "garden"))
    private = garden.private
    assert private is not None
    await stage.enter("/join " + private.invite(bob.clock.now().wall, uses=1, lasts=0))
    await stage.until_text("private, key 1")
    await stage.until(lambda: private.has(own.sender_id))
    private.remove(own.sender_id)
    await stage.until_text("not a member")
    await stage.enter("/join " + private.invite(bob.clock.now().wall, uses=1, lasts=0))
    await stage.until_text("private, key 2")
    await stage.enter("I am back")
    await stage.until(lambda: any("I am back" in line and "✓" in line for line in stage.log()))


@staged("lobby", peers=("bob", "carol"), size=(120, 30))
async def test_a_link_from_before_a_removal_is_not_confirmed_and_then_refused(stage: Stage) -> None:
    """The head said *nothing missing* for seconds, and of who was shut out how many are here."""
    bob, carol = stage.peers["bob"].node, stage.peers["carol"].node
    garden = bob.join(create_private(bob.profile.store, bob.gate.identity, "garden"))
    assert garden.private is not None
    name, link = garden.name, garden.private.invite(bob.clock.now().wall)
    carol.join(link)
    await stage.until(lambda: carol.sender_id in garden.presence.keys)
    garden.private.remove(carol.sender_id)
    await stage.until(lambda: is_shut_out(carol, name))
    await bob.part(name)
    await carol.part(name)
    await stage.enter("/join " + link)
    await stage.until_text("not confirmed by a member yet")
    assert "nothing missing" not in stage.lines()[0]
    bob.join(name)
    await stage.until_text("not a member")
    assert " here" not in stage.lines()[0]
    await stage.enter("anybody?")
    await stage.until_text("Not sent: You are no member of garden")


@staged("lobby", peers=("bob", "carol"), size=(80, 30))
async def test_who_joins_after_a_removal_while_nobody_is_there_waits_and_is_no_outsider(stage: Stage) -> None:
    bob, carol = stage.peers["bob"].node, stage.peers["carol"].node
    garden = bob.join(create_private(bob.profile.store, bob.gate.identity, "garden"))
    assert garden.private is not None
    name = garden.name
    carol.join(garden.private.invite(bob.clock.now().wall))
    await stage.until(lambda: carol.sender_id in garden.presence.keys)
    garden.private.remove(carol.sender_id)
    await stage.until(lambda: is_shut_out(carol, name))
    link = garden.private.invite(bob.clock.now().wall)
    await bob.part(name)
    await carol.part(name)
    await stage.enter("/join " + link)
    await stage.until_text("joined; waits until a member confirms it")
    assert "not confirmed by a member yet" in stage.lines()[0]
    await stage.enter("anybody?")
    bob.join(name)
    await stage.until_text("private, key 2")
    await stage.until_text("joined the channel")
    await stage.until(lambda: any("anybody?" in line and "✓" in line for line in stage.log()))
