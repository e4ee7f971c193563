"""Answers, actions and authors of one nick, as `log`, `tail`, `export` and `inspect` tell them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sdschat.identity.content import ContentKind
from sdschat.node.events import DirectSaid, MessageDelivered, PresenceChanged
from tests.cli.processes import run
from tests.node.catching import start
from tests.node.privately import creator
from tests.node.test_direct import direct, two_bobs
from tests.node.worlds import world

LONG = "will the release be out this week\nor is it too early to tell?"


@pytest.fixture
def there(tmp_path: Path) -> tuple[str, ...]:
    """A home in which bob asks, ann answers and waves, in the channel and to bob alone."""

    async def story() -> None:
        async with world(tmp_path / "data") as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            await bob.until(PresenceChanged, lambda told: told.nick == "ann")
            bob.node.send("lobby", LONG)
            asked = await ann.until(MessageDelivered)
            ann.node.send("lobby", "it will", reply_to=asked.said.message.message_id)
            ann.node.send("lobby", "waves", kind=ContentKind.ACTION)
            ann.node.send("lobby", "what was that?", reply_to="a" * 64)
            secret = direct(bob).send("ann", "between us")
            await ann.until(DirectSaid)
            direct(ann).send("bob", "nods", ContentKind.ACTION, secret)
            await bob.until(DirectSaid, lambda told: told.opened.text == "nods")

    asyncio.run(story())
    return ("--name", "bob", "--data-dir", str(tmp_path / "data"))


def printed(home: Path, *arguments: str) -> str:
    done = run(home, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(home: Path, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed(home, *arguments, "--json").splitlines()]


def test_json_has_actions_and_what_is_answered(tmp_path: Path, there: tuple[str, ...]) -> None:
    asked, answer, waves, lost = (line["message"] for line in objects(tmp_path, "log", "lobby", *there))
    assert answer["reply_to"] == asked["message_id"]
    assert waves["action"] is True
    assert lost["reply_to"] == "a" * 64
    assert not {"action", "reply_to"} & asked.keys()
    assert "action" not in answer
    assert "reply_to" not in waves


def test_text_says_what_is_answered_and_has_no_colon_before_an_action(tmp_path: Path, there: tuple[str, ...]) -> None:
    lines = [line[26:] for line in printed(tmp_path, "log", "lobby", *there).splitlines()]
    assert lines[2:] == [
        "ann (answers bob: will the release be out this week or is…): it will",
        "ann waves",
        "ann (answers aaaaaaaa): what was that?",
    ]


def test_markdown_says_so_too_also_where_the_original_is_not_printed(tmp_path: Path, there: tuple[str, ...]) -> None:
    printed(tmp_path, "export", "lobby", str(tmp_path / "lobby.md"), "--last", "3", *there)
    answer, _, waves, *_ = (tmp_path / "lobby.md").read_text().splitlines()
    assert answer.startswith("**ann** (")
    assert answer.endswith(", answers bob: will the release be out this week or is…): it will")
    assert waves.startswith("**ann** (")
    assert waves.endswith(") waves")


def test_between_two_alone_as_well(tmp_path: Path, there: tuple[str, ...]) -> None:
    first, second = (line["message"] for line in objects(tmp_path, "log", "@ann", *there))
    assert (second["action"], second["reply_to"]) == (True, first["message_id"])
    lines = printed(tmp_path, "log", "@ann", "--last", "1", *there).splitlines()
    assert [line[26:] for line in lines] == ["ann (answers bob: between us) nods"]


def test_inspect_names_what_is_answered(tmp_path: Path, there: tuple[str, ...]) -> None:
    asked, answer, waves, _ = (line["message"] for line in objects(tmp_path, "log", "lobby", *there))
    (report,) = objects(tmp_path, "inspect", "lobby", answer["message_id"], *there)
    assert report["reply_to"] == asked["message_id"]
    assert report["answered"] == {"nick": "bob", "text": LONG}
    text = printed(tmp_path, "inspect", "lobby", answer["message_id"], *there)
    assert f"answers: {asked['message_id']}\n" in text
    assert "an action (/me): yes\n" in printed(tmp_path, "inspect", "lobby", waves["message_id"], *there)


def test_in_a_private_channel_as_well(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path / "data") as w:
            ann, name = creator(w)
            ann.node.send(name, "waves", kind=ContentKind.ACTION)
            waves = await ann.until(MessageDelivered, lambda told: told.said.opened.text == "waves")
            ann.node.send(name, "that was me", reply_to=waves.said.message.message_id)

    asyncio.run(story())
    there = ("--name", "ann", "--data-dir", str(tmp_path / "data"))
    lines = [line[26:] for line in printed(tmp_path, "log", "garden", *there).splitlines()]
    assert lines[-2:] == ["ann waves [unacked]", "ann (answers ann waves): that was me [unacked]"]


def test_two_keys_of_one_nick_have_the_beginnings_of_their_ids(tmp_path: Path) -> None:
    tags: list[str] = []

    async def story() -> None:
        async with world(tmp_path / "data") as w:
            ann, bob, other = await two_bobs(w)
            bob.node.send("lobby", "tiny hello")
            asked = await ann.until(MessageDelivered)
            other.node.send("lobby", "I am the real bob", reply_to=asked.said.message.message_id)
            ann.node.send("lobby", "who is who?")
            await ann.until(MessageDelivered, lambda told: told.said.opened.text == "I am the real bob")
            tags.extend(each.node.sender_id[:4] for each in (bob, other))

    asyncio.run(story())
    there = ("--name", "ann", "--data-dir", str(tmp_path / "data"))
    first, second = tags
    text = printed(tmp_path, "log", "lobby", *there)
    assert f" bob {first}: tiny hello\n" in text
    assert f" bob {second} (answers bob {first}: tiny hello): I am the real bob\n" in text
    assert " ann: who is who?" in text
    assert f"**bob {first}** (" in printed(tmp_path, "log", "lobby", "--format", "md", *there)
    assert "(answers bob: " not in text


def test_what_somebody_who_is_muted_said_is_not_told_by_an_answer_to_it(tmp_path: Path, there: tuple[str, ...]) -> None:
    """The answer had the beginning of a text that `log` itself leaves out."""
    asked = objects(tmp_path, "log", "lobby", *there)[0]["message"]

    async def story() -> None:
        async with world(tmp_path / "data") as w:
            start(w, "ann").node.mute(asked["sender_id"], True)

    asyncio.run(story())
    text = printed(tmp_path, "log", "lobby", "--name", "ann", "--data-dir", str(tmp_path / "data"))
    assert "ann (answers bob: (not shown)): it will" in text
    assert "release" not in text
