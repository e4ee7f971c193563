"""Two keys of one nick: the beginning of the id stands beside the nick wherever one of them is named."""

from __future__ import annotations

from sdschat.node.events import DirectSaid
from sdschat.node.sync import extension
from tests.node.catching import stop
from tests.node.worlds import Member
from tests.tui.stage import CALM, Stage, staged


async def two_bobs(s: Stage) -> tuple[Member, Member]:
    """Let a second bob come, who is heard but says nothing. Return both, once they are here."""
    other = s.world.start("bob", profile="other", changes=CALM, before=extension.install)
    both = s.peers["bob"], other
    await s.until(lambda: all(one.node.sender_id in s.app.node.sessions["lobby"].presence.keys for one in both))
    return both


def tagged(member: Member) -> str:
    return f"bob {member.node.sender_id[:4]}"


@staged(peers=("bob",), syncs=True, size=(140, 30))
async def test_two_conversations_with_one_nick_do_not_look_the_same(s: Stage) -> None:
    for bob in await two_bobs(s):
        await s.enter(f"/msg {bob.node.sender_id[:8]} hi")
        await s.until(lambda bob=bob: [said.opened.text for said in bob.of(DirectSaid)] == ["hi"])  # type: ignore[misc]
        name = tagged(bob)
        assert s.app.label(s.app.shown) == f"@{name}"
        head = s.lines()[0]
        assert f"@{name}" in head
        assert f"only {name} and you read this" in head
        assert f"to @{name} alone" in s.text()
        listed = next(line for line in s.lines() if f"{s.app.order.index(s.app.shown) + 1} @" in line[:24])
        assert name in listed[:24]


@staged(peers=("bob",), syncs=True, size=(140, 30))
async def test_the_id_stays_beside_the_nick_when_the_other_one_is_gone(s: Stage) -> None:
    bob, other = await two_bobs(s)
    await s.enter(f"/msg {bob.node.sender_id[:8]} hi")
    await stop(s.world, other)
    await s.until(lambda: other.node.sender_id not in s.app.node.sessions["lobby"].presence.keys)
    assert s.app.label(s.app.shown) == f"@{tagged(bob)}"
    await stop(s.world, bob)
    await s.until(lambda: bob.node.sender_id not in s.app.node.sessions["lobby"].presence.keys)
    await s.enter("are you there?")
    await s.press("alt+up")
    assert f"{tagged(bob)} is not here: it is kept" in s.app.panes.said("details")


@staged(peers=("bob",), syncs=True, size=(140, 30))
async def test_sentences_tell_two_keys_of_one_nick_apart(s: Stage) -> None:
    bob, other = await two_bobs(s)
    message = s.app.node.send("lobby", "hello")
    await s.until_text("hello")
    entry = s.app.model.timeline.entries[message.message_id]
    for one in (bob, other):
        assert tagged(one) in s.app.model.told_of(entry)
    await s.enter("/who")
    for one in (bob, other):
        assert tagged(one) in s.text()
    await s.press("escape")
    other.node.send("lobby", "me too")
    await s.until_text("me too")
    assert any(f"heard {tagged(one)}" in s.lines()[0] for one in (bob, other))
    await stop(s.world, other)
    await s.until(lambda: f"{tagged(other)} not here" in s.lines()[0])


@staged(peers=("bob",), syncs=True, size=(100, 30))
async def test_a_row_gets_the_id_once_a_second_one_of_its_nick_is_here(s: Stage) -> None:
    s.say("it is me")
    await s.until_text("it is me")
    bob, _ = await two_bobs(s)
    await s.until(lambda: any(f"{tagged(bob)} " in line and "it is me" in line for line in s.log()))


@staged(peers=("bob",), syncs=True, size=(100, 30))
async def test_a_nick_that_looks_like_one_with_an_id_has_its_own_id_beside_it(s: Stage) -> None:
    bob, _ = await two_bobs(s)
    third = s.world.start(tagged(bob), profile="third")
    third.node.send("lobby", "trust me")
    await s.until_text("trust me")
    assert s.app.model.name_of(third.node.sender_id) == f"{tagged(bob)} {third.node.sender_id[:4]}"


@staged(peers=("bob",), syncs=True, size=(140, 30))
async def test_a_long_nick_is_cut_in_front_of_the_id(s: Stage) -> None:
    for number in (1, 2):
        long = s.world.start("y" * 60, profile=f"p{number}")
        await s.until(lambda long=long: long.node.sender_id in s.app.node.sessions["lobby"].presence.keys)  # type: ignore[misc]
    await s.enter(f"/msg {long.node.sender_id[:8]} hi")
    tag = f" {long.node.sender_id[:4]}"
    assert f"{tag} alone" in s.text()
    assert sum(tag in line[:24] for line in s.lines()[1:]) == 1
    assert tag in s.lines()[0]
    assert any(tag in line[-24:] for line in s.lines()[1:])


@staged(peers=("bob",), syncs=True, size=(140, 30))
async def test_what_the_screen_shows_of_an_id_is_taken_as_a_name(s: Stage) -> None:
    bob, other = await two_bobs(s)
    for one in (bob, other):
        one.node.send("lobby", f"known by {one.node.sender_id}")
        await s.until_text(f"known by {one.node.sender_id}")
    for one in (bob, other):
        sender_id = one.node.sender_id
        for name in (tagged(one), sender_id[:4], sender_id[:8], sender_id):
            await s.enter_instead(f"/mute {name}")
            assert f"nothing that {tagged(one)} says is shown" in s.hint()
            await s.enter_instead(f"/unmute {name}")
            assert f"what {tagged(one)} says is shown again" in s.hint()
            await s.enter_instead(f"/verify {name}")
            assert f"Does bob ({sender_id[:8]}) see the same six words?" in s.text()
            await s.press("escape")
            await s.enter_instead(f"/msg {name}")
            assert s.app.conversation.peer == sender_id
            await s.press("alt+1")


@staged(peers=("bob",), syncs=True, size=(140, 30))
async def test_somebody_who_is_away_is_named_by_the_beginning_of_the_id(s: Stage) -> None:
    s.say("good bye")
    await s.until_text("good bye")
    bob = s.peers["bob"]
    await stop(s.world, bob)
    await s.until(lambda: bob.node.sender_id not in s.app.node.sessions["lobby"].presence.keys)
    await s.enter(f"/msg {bob.node.sender_id[:4]} see you")
    assert s.app.conversation.peer == bob.node.sender_id
    assert any("see you" in line for line in s.log())


@staged(peers=("bob",), syncs=True, size=(140, 40))
async def test_a_name_of_two_is_refused_with_both_ids(s: Stage) -> None:
    bob, other = await two_bobs(s)
    third = s.world.start(bob.node.sender_id[:4], profile="third", changes=CALM, before=extension.install)
    for one in (bob, other, third):
        one.node.send("lobby", f"known by {one.node.sender_id}")
        await s.until_text(f"known by {one.node.sender_id}")
    for name, ids in ("bob", (bob, other)), (bob.node.sender_id[:4], (bob, third)):
        for command in "msg", "verify", "mute":
            await s.enter_instead(f"/{command} {name}")
            assert all(one.node.sender_id in s.hint() for one in ids)
    await s.enter_instead(f"/verify {bob.node.sender_id} yes")
    await s.enter_instead("/msg bob hi")
    assert f"{bob.node.sender_id} (verified, here)" in s.hint()


@staged(peers=("bob",), syncs=True, size=(140, 30))
async def test_tab_offers_names_that_are_taken(s: Stage) -> None:
    both = await two_bobs(s)
    for command in "msg", "verify", "mute":
        s.app.composer.put("")
        await s.type(f"/{command} b")
        found = set()
        for _ in both:
            await s.press("tab")
            found.add(s.app.composer.text)
        assert found == {f"/{command} {tagged(one)} " for one in both}


@staged(peers=("y" * 60,), syncs=True, size=(140, 30))
async def test_tab_completes_a_long_nick_whole(s: Stage) -> None:
    await s.until(lambda: bool(s.app.node.sessions["lobby"].presence.keys))
    await s.type("/verify y")
    await s.press("tab")
    assert s.app.composer.text == f"/verify {'y' * 60} "
    s.app.composer.put("")
    await s.type("yy")
    await s.press("tab")
    assert s.app.composer.text == f"{'y' * 60}: "


@staged(peers=("bob",), syncs=True, size=(140, 30))
async def test_who_mutes_oneself_is_not_told_of_writing(s: Stage) -> None:
    await s.enter("/mute ann")
    assert s.hint() == "That is yourself. Choose somebody else."


@staged(peers=("bob",), syncs=True, size=(140, 30))
async def test_the_lens_tells_two_keys_of_one_nick_apart(s: Stage) -> None:
    both = await two_bobs(s)
    s.app.node.send("lobby", "hello")
    await s.until_text("hello")
    await s.enter("/events")
    assert all(f"{tagged(one)} is here" in s.text() or f"from {tagged(one)}" in s.text() for one in both)


@staged(peers=("bob",), syncs=True, size=(100, 30))
async def test_one_of_two_is_parted_by_nick_and_id(s: Stage) -> None:
    """`/fault` read a name in a way of its own, which knew nothing of ids beside nicks."""
    bob, other = await two_bobs(s)
    await s.enter("/fault partition bob")
    assert "Several participants go by that name" in s.hint()
    assert all(tagged(one) in s.hint() for one in (bob, other))
    await s.enter_instead(f"/fault partition {tagged(bob)}")
    await s.until_text(f"without {tagged(bob)}")
    await s.enter(f"/fault rejoin {tagged(bob)}")
    await s.until_text("no faults")
