"""Commands that send messages."""

from __future__ import annotations

from sdschat.node.events import MessageDelivered
from sdschat.tui.model.items import Phase
from tests.tui.stage import Stage, staged


@staged(peers=("bob",))
async def test_what_is_typed_is_sent_and_shown_with_its_state(s: Stage) -> None:
    await s.enter("hello bob")
    assert "hello bob" in s.text()
    told = await s.peers["bob"].until(MessageDelivered)
    assert told.said.opened.text == "hello bob"
    await s.until_text("✓")
    assert s.app.composer.text == ""


@staged(peers=("bob",))
async def test_me_says_what_one_does(s: Stage) -> None:
    await s.enter("/me waves")
    assert any("* ann" in line and "waves" in line for line in s.log())
    told = await s.peers["bob"].until(MessageDelivered)
    assert told.said.opened.kind == 1


@staged()
async def test_me_needs_a_text(s: Stage) -> None:
    await s.enter("/me")
    assert "/me needs a text" in s.hint()
    assert s.app.composer.text == "/me"


@staged()
async def test_two_slashes_send_one(s: Stage) -> None:
    await s.enter("//etc/hosts")
    assert "/etc/hosts" in s.log()[1]
    await s.enter("/say /usr/bin")
    assert "/usr/bin" in s.log()[2]


@staged()
async def test_an_unknown_command_is_not_sent_and_the_next_one_is_named(s: Stage) -> None:
    await s.enter("/serch this")
    assert "There is no command /serch. Did you mean /search?" in s.hint()
    assert s.app.composer.text == "/serch this"
    assert not any("serch" in line for line in s.log())


@staged()
async def test_a_command_with_a_space_before_it_is_asked_about_once(s: Stage) -> None:
    await s.enter(" /quit")
    assert "looks like a command" in s.hint()
    await s.press("enter")
    assert any("/quit" in line for line in s.log())


@staged()
async def test_a_text_that_merely_begins_with_a_space_is_sent(s: Stage) -> None:
    await s.enter(" hello")
    assert any("hello" in line for line in s.log())


@staged(peers=("bob",))
async def test_reply_quotes_the_message_that_it_answers(s: Stage) -> None:
    message_id = s.say("what time is it?")
    await s.until_text("what time")
    await s.enter(f"/reply {message_id[:6]} noon")
    await s.until_text("↳ bob: what time is it?")
    told = await s.peers["bob"].until(MessageDelivered, lambda told: told.said.opened.text == "noon")
    assert told.said.opened.reply_to == message_id


@staged(peers=("bob",))
async def test_reply_without_an_id_answers_the_selection(s: Stage) -> None:
    message_id = s.say("and you?")
    await s.until_text("and you?")
    await s.press("alt+up")
    await s.enter("/r fine")
    told = await s.peers["bob"].until(MessageDelivered, lambda told: told.said.opened.text == "fine")
    assert told.said.opened.reply_to == message_id


@staged(peers=("bob",))
async def test_reply_takes_a_word_for_an_id_only_where_it_looks_like_one(s: Stage) -> None:
    """A text that began with "bad" answered another message than the selected one, and lost its first word."""
    ids = [s.say(f"line {number}") for number in range(40)]
    await s.until_text("line 39")
    plain = next(one for one in ids if one[:3].isdigit())
    mixed = next(one for one in ids if not one[:3].isdigit() and not one[:3].isalpha() and one != ids[-1])
    await s.press("alt+up")
    await s.enter(f"/reply {plain[:3]} to you")
    await s.enter(f"/reply {mixed[:8]} to them")
    answered = {item.text: item.reply_to for item in s.app.model.timeline.messages()}
    assert answered[f"{plain[:3]} to you"] == ids[-1]
    assert answered["to them"] == mixed


@staged()
async def test_reply_needs_a_message(s: Stage) -> None:
    await s.enter("/reply hello")
    assert "No message is selected" in s.hint()


@staged(peers=("bob",))
async def test_nick_changes_the_name_and_nothing_else(s: Stage) -> None:
    await s.enter("/nick anna")
    await s.enter("it is me")
    told = await s.peers["bob"].until(MessageDelivered)
    assert told.said.nick == "anna"
    assert told.said.message.sender_id == s.app.node.sender_id
    await s.until_text("ann is now known as anna")


@staged(peers=("bob",))
async def test_a_nick_that_another_key_goes_by_is_told_to_who_takes_it(s: Stage) -> None:
    await s.until(lambda: s.peers["bob"].node.sender_id in s.app.node.sessions["lobby"].presence.online)
    await s.enter("/nick bob")
    assert "Another key goes by this nick" in s.hint()


@staged()
async def test_nick_refuses_what_is_none(s: Stage) -> None:
    await s.enter("/nick " + "x" * 300)
    assert "Choose a shorter one" in s.hint()


@staged()
async def test_outbox_lists_what_is_not_acknowledged(s: Stage) -> None:
    await s.enter("/outbox")
    assert "nothing waits" in s.text()
    await s.enter("nobody is here")
    await s.enter("/outbox")
    assert "1 of yours not acknowledged yet" in s.text()


@staged(peers=("bob", "carol"))
async def test_outbox_names_who_is_not_known_to_have_what_is_acknowledged(s: Stage) -> None:
    """The sign at the message waits for all who are here."""
    await s.until_text("3 here")
    await s.enter("/fault partition carol")
    await s.enter("who hears this?")
    await s.until(lambda: not s.app.conversation.open_messages(), "bob")
    await s.enter("/outbox")
    assert "1 of yours acknowledged, and not confirmed by all" in s.text()
    assert "not confirmed by carol: who hears this?" in s.text()


@staged()
async def test_an_answer_that_nothing_is_to_be_done_leaves_the_input_empty(s: Stage) -> None:
    await s.until(lambda: s.app.view.connected("lobby"), "a connection")
    await s.enter("/reconnect")
    assert "is connected" in s.hint()
    assert s.app.composer.text == ""


@staged(changes={"sds.resend_unacked": 3_600_000, "sds.resend_max": 7_200_000})
async def test_resend_sends_again_now_what_is_not_acknowledged(s: Stage) -> None:
    await s.enter("/resend")
    assert "nothing waits" in s.hint()
    await s.enter("nobody is here")
    await s.until_text("unacked")
    await s.enter("/resend")
    assert "1 message sent again" in s.hint()
    channel = s.app.node.sessions["lobby"].channel
    await s.until(lambda: [known.sends for known in channel.state.outgoing.open.values()] == [2])


@staged(peers=("bob",))
async def test_resend_of_what_does_not_wait_is_refused(s: Stage) -> None:
    message_id = s.say("theirs")
    await s.until_text("theirs")
    await s.enter(f"/resend {message_id[:6]}")
    assert "does not wait" in s.hint()


@staged()
async def test_what_one_writes_without_a_connection_tries_to_connect_at_once(s: Stage) -> None:
    await s.until(lambda: s.app.view.connected("lobby"), "a connection")
    s.app.node.sessions["lobby"].transport.hang_up()
    await s.until_text("OFFLINE")
    await s.enter("hello")
    await s.until_text("unacked")
    assert s.app.view.connected("lobby")


@staged()
async def test_reconnect_has_nothing_to_do_while_connected(s: Stage) -> None:
    await s.until_text("nothing missing")
    s.app.node.broker = "mqtts://broker.example:8883"
    await s.enter("/reconnect")
    assert s.hint().endswith("this channel is connected, to mqtts://broker.example:8883")


@staged(changes={"sds.max_message_bytes": 4096, "bloom.layout": "compact"})
async def test_a_message_that_cannot_be_sent_stays_in_the_input(s: Stage) -> None:
    s.app.composer.put("x" * 5000)
    await s.press("enter")
    assert "Not sent" in s.hint()
    assert len(s.app.composer.text) == 5000


@staged()
async def test_own_messages_begin_as_queued_or_unacked(s: Stage) -> None:
    await s.enter("alone")
    (entry,) = s.app.model.timeline.messages()
    assert entry.fate is not None
    assert entry.fate.phase <= Phase.UNACKED


@staged()
async def test_a_nick_is_kept_for_the_next_start_also_if_nothing_is_said_under_it(s: Stage) -> None:
    await s.enter("hello")
    await s.enter("/nick rob")
    known, key = s.app.node.profile.store.keys(), s.app.node.gate.identity.public_key
    assert [nick for public_key, nick, _ in known if public_key == key] == ["rob"]
