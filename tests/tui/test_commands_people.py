"""The commands that say whose messages are shown."""

from __future__ import annotations

from sdschat.identity.key_book import PEOPLE_A_MINUTE
from sdschat.node.events import NodeEvent, OverLimit
from sdschat.node.sync import extension
from sdschat.node.sync.direct import DirectMessaging
from sdschat.node.sync.extension import sync_extension
from sdschat.sds.values import AckState
from tests.node.test_strangers import CROWD, LATE, MORE, nick_of, say
from tests.tui.stage import Stage, staged
from tests.tui.test_talk import all_here


@staged(peers=("bob", "carol"), syncs=True, size=(120, 30))
async def test_who_is_muted_is_not_shown_until_shown_again(s: Stage) -> None:
    await all_here(s)
    s.say("before")
    await s.until_text("before")
    await s.enter("/mute bob")
    await s.until(lambda: not any("before" in line for line in s.log()), "what was said before is not shown either")
    assert "nothing that bob says is shown" in s.hint()
    assert "also from before" in s.hint()
    await s.until(
        lambda: any("bob" in line and line.rstrip(" │").endswith("muted") for line in s.lines()), "the list says so"
    )
    s.peers["bob"].node.send("lobby", "noise")
    s.peers["carol"].node.send("lobby", "good day")
    await s.until(lambda: any("good day" in line for line in s.log()))
    assert not any("noise" in line for line in s.log())
    await s.enter("/unmute bob")
    await s.until(lambda: any("noise" in line for line in s.log()), "what was said meanwhile")
    assert any("before" in line for line in s.log())
    s.peers["bob"].node.send("lobby", "sorry")
    await s.until(lambda: any("sorry" in line for line in s.log()))


@staged("lobby", "dev", syncs=True, size=(120, 30))
async def test_who_is_in_another_channel_alone_and_silent_is_called_by_name(s: Stage) -> None:
    """They were found by the nick, and then called by the beginning of their id."""
    s.world.start("dave", "dev", before=extension.install)
    await s.until(lambda: "dave" in s.app.node.sessions["dev"].presence.online.values(), "dave")
    await s.enter("/mute dave")
    assert "nothing that dave says is shown" in s.hint()
    await s.enter("/unmute dave")
    assert "what dave says is shown again" in s.hint()


@staged(peers=("bob",), syncs=True, size=(120, 30))
async def test_without_a_connection_of_our_own_nobody_is_said_to_be_here_or_to_have_left(s: Stage) -> None:
    await s.until_text("2 here")
    await s.enter("/fault offline")
    await s.until_text("OFFLINE")
    await s.enter("/who")
    await s.until_text("not connected, 2 known")
    assert "here, heard" not in s.text().replace("not here, heard", "")
    await s.enter("/lens peers")
    await s.until_text("participants: 1 other, not connected")
    assert "not known to be here" in " ".join(s.text().split())
    await s.enter("/msg bob are you there")
    await s.until_text("to @bob alone")
    assert "CONNECTING" not in s.text(), "a conversation that begins now has no connection either"
    assert "OFFLINE on purpose" in s.text()


@staged(peers=("bob",), syncs=True, size=(120, 30))
async def test_who_is_muted_and_ignored_is_shown_when_neither_holds_any_more(s: Stage) -> None:
    await all_here(s)
    await s.enter("/mute bob")
    await s.enter("/ignore bob")
    await s.enter("/unignore bob")
    assert "still muted, and not shown | /unmute bob" in s.hint()
    await s.enter("/ignore bob")
    await s.enter("/unmute bob")
    assert "still ignored, and not shown | /unignore bob" in s.hint()
    await s.enter("/unignore bob")
    assert "what bob says is shown again" in s.hint()


@staged(peers=("bob",), syncs=True)
async def test_what_cannot_be_muted_is_said(s: Stage) -> None:
    await all_here(s)
    await s.enter("/mute nobody")
    assert "Nobody called nobody is known" in s.hint()


@staged(peers=("bob", "carol"), syncs=True, size=(120, 30))
async def test_of_who_is_ignored_only_ids_are_kept(s: Stage) -> None:
    await all_here(s)
    await s.enter("/ignore bob")
    assert "only the ids of it are kept" in s.hint()
    noise = s.peers["bob"].node.send("lobby", "noise")
    s.peers["carol"].node.send("lobby", "good day")
    await s.until(lambda: any("good day" in line for line in s.log()))
    state = s.app.view.engine("lobby")
    await s.until(lambda: state.delivered(noise.message_id) is not None)
    assert state.packet_of(noise.message_id) is None
    await s.enter("/unignore bob")
    s.peers["bob"].node.send("lobby", "sorry")
    await s.until(lambda: any("sorry" in line for line in s.log()))
    assert not any("noise" in line for line in s.log())


@staged(peers=("bob",), syncs=True, size=(120, 30))
async def test_one_line_stands_for_what_exceeds_the_limit(s: Stage) -> None:
    await all_here(s)
    bob = s.peers["bob"].node
    for messages in (7, 212):
        s.app._hear(NodeEvent("lobby", 1_760_000_000_000, OverLimit(bob.sender_id, "bob", messages)))
    await s.until(lambda: any("212 messages of bob over the limit" in line for line in s.log()))
    assert sum("over the limit" in line for line in s.log()) == 1


@staged(peers=("bob",), syncs=True, size=(120, 30))
async def test_what_was_kept_as_an_id_is_fetched_on_demand(s: Stage) -> None:
    await all_here(s)
    await s.enter("/ignore bob")
    noise = s.peers["bob"].node.send("lobby", "noise")
    state = s.app.view.engine("lobby")
    await s.until(lambda: state.delivered(noise.message_id) is not None)
    await s.enter("/show bob")
    assert "/unmute or /unignore comes first" in s.hint()
    await s.enter_instead("/unignore bob")
    await s.enter("/show bob")
    assert "fetching the texts of 1 message of bob" in s.hint()
    await s.until(lambda: any("noise" in line for line in s.log()))
    await s.until(lambda: any(line.endswith("1 text fetched") for line in s.log()))
    await s.enter("/show bob")
    assert "Nothing that bob said is kept as an id alone" in s.hint()


async def crowded(s: Stage) -> None:
    for key in CROWD:
        say(s.app.node.sessions["lobby"], key, f"I am {nick_of(key)}")
    await s.until_text(f"{MORE} senders more, with {MORE} messages, not shown")


@staged(size=(120, 60))
async def test_new_keys_that_are_too_many_wait_on_one_line_until_they_are_opened(s: Stage) -> None:
    await crowded(s)
    assert sum("I am nick" in line for line in s.log()) == PEOPLE_A_MINUTE
    assert not any(nick_of(LATE[0]) in line for line in s.lines())
    await s.enter("/strangers")
    await s.until_text(f"{nick_of(LATE[0])} {LATE[0].sender_id[:8]}: 1 message, the last")
    await s.press("escape")
    await s.enter_instead(f"/strangers open {LATE[0].sender_id[:8]}")
    await s.until(lambda: any(f"I am {nick_of(LATE[0])}" in line for line in s.log()))
    await s.until_text(f"{MORE - 1} senders more")
    await s.enter("/strangers open all")
    await s.until(lambda: sum("I am nick" in line for line in s.log()) == PEOPLE_A_MINUTE + MORE)
    assert not any("not shown" in line for line in s.log())


@staged(size=(120, 30))
async def test_strangers_who_cannot_be_opened_are_said(s: Stage) -> None:
    await s.enter("/strangers")
    assert "everybody who speaks is shown" in s.hint()
    await crowded(s)
    await s.enter_instead("/strangers open nobody")
    assert "No stranger who waits here is called nobody" in s.hint()
    await s.enter_instead("/strangers all")
    assert "/strangers open KEY or /strangers open all" in s.hint()


@staged(peers=("bob", "carol"), syncs=True, size=(120, 30))
async def test_an_answer_to_somebody_who_is_muted_does_not_show_what_they_said(s: Stage) -> None:
    await all_here(s)
    noise = s.say("noise noise")
    await s.until_text("noise noise")
    await s.enter("/mute bob")
    s.say("I disagree", "carol", reply_to=noise)
    await s.until_text("I disagree")
    assert "noise noise" not in s.text()
    assert "↳ bob: (muted)" in s.text()
    await s.press("alt+up")
    await s.enter("/thread")
    assert "I disagree" in s.text()
    assert "noise noise" not in s.text()
    await s.press("escape")
    await s.enter("/unmute bob")
    await s.until_text("↳ bob: noise noise")


@staged(peers=("bob",), syncs=True, size=(120, 30))
async def test_what_somebody_who_is_muted_writes_to_us_alone_waits_until_they_are_shown_again(s: Stage) -> None:
    """It opened a conversation and rang."""
    await all_here(s)
    await s.enter("/mute bob")
    direct = sync_extension(s.peers["bob"].node, "lobby").direct
    direct.send(s.app.node.sender_id, "listen to me")
    await s.until(lambda: _acknowledged(direct))
    assert list(s.app.order) == ["lobby"]
    await s.enter("/msg bob")
    assert "listen to me" not in s.text()
    await s.enter("/unmute bob")
    await s.until_text("listen to me")


def _acknowledged(direct: DirectMessaging) -> bool:
    return [row.state for row in direct.messages.newest()] == [int(AckState.ACKED)]


@staged("lobby", "dev", peers=("bob",), size=(120, 30))
async def test_who_would_mute_a_channel_is_told_how(s: Stage) -> None:
    """Nobody of that name was known, and /help mute told nothing either."""
    await s.enter("/mute dev")
    assert "/notify none" in s.hint()
