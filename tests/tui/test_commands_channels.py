"""Commands about channels and the people in them."""

from __future__ import annotations

import pytest

from sdschat.node.view.values import Participant
from sdschat.tui.commands.channels import person_line
from tests.tui.stage import Stage, staged


@staged(peers=("bob",))
async def test_join_opens_another_channel_and_shows_it(s: Stage) -> None:
    await s.enter("/join dev")
    assert s.app.shown == "dev"
    assert list(s.app.order) == ["lobby", "dev"]
    await s.enter("/join")
    assert "/join needs a channel" in s.hint()


@staged()
async def test_join_refuses_what_is_no_name(s: Stage) -> None:
    await s.enter("/join " + "x" * 200)
    assert s.app.shown == "lobby"
    assert "100" in s.hint()


@staged()
async def test_join_takes_several_channels_with_quotes_as_in_a_shell(s: Stage) -> None:
    """All of it was the name of one channel."""
    await s.enter('/join dev ops "my room"')
    assert list(s.app.order) == ["lobby", "dev", "ops", "my room"]
    assert s.app.shown == "dev"
    await s.enter('/join attic "my')
    assert s.hint().startswith("A quote is not closed.")
    await s.enter_instead("/join attic " + "x" * 200)
    assert "attic" not in s.app.order, "none is opened where one is no name"


@staged()
async def test_join_takes_no_option_of_the_program_for_a_channel(s: Stage) -> None:
    """`/join dev --private` opened two open channels, one of them called `--private`."""
    await s.enter("/join dev --private")
    assert "no option such as --private" in s.hint()
    assert list(s.app.order) == ["lobby"]


@staged("lobby", "dev")
async def test_part_leaves_a_channel_and_keeps_its_history(s: Stage) -> None:
    await s.enter("remember this")
    await s.enter("/part")
    assert list(s.app.order) == ["dev"]
    assert s.hint().startswith("lobby is closed; its history stays")
    assert "lobby" not in s.app.node.sessions
    await s.enter("/leave")  # the same in an open channel
    assert "only channel" in s.hint()
    await s.enter_instead("/join lobby")
    assert any("remember this" in line for line in s.log())


@staged("lobby", "dev", "attic")
async def test_go_by_number_and_by_the_beginning_of_a_name(s: Stage) -> None:
    await s.enter("/go 2")
    assert s.app.shown == "dev"
    await s.enter("/go at")
    assert s.app.shown == "attic"
    await s.press("alt+1")
    assert s.app.shown == "lobby"
    await s.press("alt+9")
    assert s.app.shown == "lobby"
    await s.enter("/go nowhere")
    assert "No open channel is called nowhere" in s.hint()


@staged("lobby", "dev", "attic", peers=("bob",))
async def test_next_goes_to_who_spoke_to_us_first_and_then_to_what_is_unread(s: Stage) -> None:
    s.say("hello everybody", channel="dev")
    s.say("hello ann", channel="attic")
    await s.until(lambda: s.app.models["dev"].unread == 1 and s.app.models["attic"].mentions == 1)
    await s.press("alt+a")
    assert s.app.shown == "attic"
    await s.enter("/next")
    assert s.app.shown == "dev"
    await s.enter("/next")
    assert "nothing is unread" in s.hint()


@staged("lobby", "dev", peers=("bob",), size=(120, 30))
async def test_badges_count_what_is_unread_until_it_is_looked_at(s: Stage) -> None:
    s.say("one", channel="dev")
    s.say("two, ann", channel="dev")
    await s.until_text("1!")
    await s.press("alt+2")
    assert "1!" not in s.text()
    assert s.app.models["dev"].unread == 0


@staged("lobby", "dev")
async def test_channels_lists_them_with_their_state(s: Stage) -> None:
    await s.enter("hello")
    await s.enter("/channels")
    assert "1 lobby: " in s.text()
    assert "1 message" in s.text()
    assert "2 dev: " in s.text()


@staged(peers=("bob",))
async def test_who_tells_who_is_here(s: Stage) -> None:
    await s.until(lambda: len(s.app.view.channel("lobby").people()) == 2)
    await s.enter("/who")
    await s.until_text("2 here, 2 known:")
    assert any("bob" in line and "here, heard" in line for line in s.lines())


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        (Participant("a" * 32, "ann", True, 0, True), "aaaaaaaa  you"),
        (Participant("b" * 32, "bob", True, 1000, False), "bbbbbbbb  here, heard 4s ago"),
        (Participant("b" * 32, "bob", True, 0, False), "bbbbbbbb  here, not heard"),
        (Participant("b" * 32, "bob", False, 1000, False), "bbbbbbbb  not here, heard 4s ago"),
    ],
)
def test_who_says_of_everybody_when_they_were_heard(person: Participant, expected: str) -> None:
    assert person_line(person, 5000) == expected


@staged("lobby", "dev", peers=("bob",), size=(120, 30))
async def test_split_shows_two_channels_and_keeps_both_up_to_date(s: Stage) -> None:
    await s.enter("/split dev")
    s.say("on the left")
    s.say("on the right", channel="dev")
    await s.until_text("on the left")
    await s.until_text("on the right")
    assert s.app.models["dev"].unread == 0
    await s.press("f7")
    assert s.app.shown == "dev"
    await s.enter("/split")
    assert "on the left" not in s.text()


@staged()
async def test_split_needs_a_second_channel(s: Stage) -> None:
    await s.enter("/split")
    assert "There is but one channel" in s.hint()


@staged("lobby", "dev", peers=("bob",))
async def test_notify_decides_what_counts_as_news(s: Stage) -> None:
    await s.press("alt+2")
    await s.enter("/notify none")
    await s.press("alt+1")
    s.say("ann, nobody told you", channel="dev")
    await s.until(lambda: s.app.models["dev"].unread == 1)
    assert s.app.workspace.counted("dev") == (0, 0)
    assert s.app.workspace.next_active() is None


@staged()
async def test_notify_refuses_other_words(s: Stage) -> None:
    await s.enter("/notify loud")
    assert "/notify takes one of all, mentions, none" in s.hint()


@staged("lobby", "dev", peers=("bob",), syncs=True)
async def test_words_of_other_programs_for_channels_and_searches_are_understood(s: Stage) -> None:
    await s.until(lambda: s.peers["bob"].node.sender_id in s.app.node.sessions["lobby"].presence.keys)
    s.say("the needle")
    await s.until_text("the needle")
    await s.enter("/win 2")
    assert s.app.shown == "dev"
    await s.enter("/msg bob: hello")
    assert s.app.label(s.app.shown) == "@bob"
    assert any("hello" in line for line in s.log())
    await s.enter("/close")
    assert list(s.app.order) == ["lobby", "dev"]
    await s.enter("/buffer lobby")
    await s.enter("/lastlog needle")
    assert "hit 1 of 1" in s.hint()


@staged("lobby", "dev")
async def test_a_channel_that_was_closed_opens_again_with_an_empty_input(s: Stage) -> None:
    """The command that closed it was saved as its draft while it was typed, and stood there later."""
    await s.type("/part")
    s.app._keep()
    await s.press("enter")
    assert list(s.app.order) == ["dev"]
    await s.enter("/join lobby")
    assert s.app.shown == "lobby"
    assert s.app.composer.text == ""
