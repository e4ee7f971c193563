"""Three real processes on the embedded broker: a deletion leaves no trace, and who was put out comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.timber.processes import (
    EDITED,
    SECRET,
    Group,
    Pipe,
    admit,
    chat_and_delete,
    look_from_outside,
    stop_and_continue,
)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    made = Group(Path(tmp_path_factory.mktemp("profiles")))
    yield made
    made.close()


@pytest.fixture(scope="module")
def people(group: Group) -> tuple[Pipe, Pipe, Pipe]:
    return admit(group)


@pytest.fixture(scope="module")
def chatted(group: Group, people: tuple[Pipe, Pipe, Pipe]) -> dict[str, Any]:
    return chat_and_delete(group, *people)


def test_create_knock_invite_chat_edit_and_delete(chatted: dict[str, Any]) -> None:
    found = chatted
    assert len(found["before"]) >= 3  # each profile had the words on its disk
    assert found["left"] == []
    assert found["logs"] == ["I saw nothing", "good morning"]
    assert found["answers"] == [("good morning", "I saw nothing")]
    assert found["refused"][0].startswith("There is no post")
    assert found["refused"][1].startswith("it must be one of")


@pytest.mark.usefixtures("chatted")
def test_commands_beside_a_running_node_know_the_channel(group: Group, people: tuple[Pipe, Pipe, Pipe]) -> None:
    found = look_from_outside(group, people[1])
    assert found["tail"] == [
        "bob: I saw nothing (edited)",
        "cid (answers bob: I saw nothing (edited)): good morning",
        "bob: I saw it all (edited)",
    ]
    listed = found["listed"]
    assert (listed["messages"], listed["unread"], listed["peers"]) == (2, 2, 2)
    assert listed["members"] == [pipe.sender_id for pipe in people]
    assert listed["newest"] > 1_700_000_000_000
    assert "3 members, checkpoint" in found["table"]
    assert "garden: 3 members, checkpoint" in found["checked"][0]


@pytest.mark.usefixtures("chatted")
def test_who_was_stopped_is_put_out_and_comes_back(group: Group, people: tuple[Pipe, Pipe, Pipe]) -> None:
    found = stop_and_continue(group, *people)
    assert found["seen"] == {name: [1, 1, 1] for name in ("ann", "bob", "cid")}
    assert group.files_with(SECRET, EDITED) == []
