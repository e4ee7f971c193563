"""The formats of `log`: nothing that others chose is more than text in them."""

from __future__ import annotations

import json

import pytest

from sdschat.cli.log_formats import DIRECT, as_markdown, as_text, direct_as_json
from sdschat.store.display_rows import DisplayMessage


def said(nick: str | None, text: str) -> DisplayMessage:
    return DisplayMessage(
        channel="lobby",
        message_id="m" * 64,
        lamport=0,
        sender_id="5" * 32,
        dependencies=(),
        own=False,
        via="live",
        received_at=0,
        nick=nick,
        text=text,
        verdict="known",
        sent_at=0,
        state=None,
        sends=0,
        raw=None,
        damaged="",
    )


@pytest.mark.parametrize(
    ("nick", "name"),
    [("ann", "ann"), ("<b>", r"\<b\>"), ("[a](http://x)", r"\[a\](http://x)"), ("a** (now): no", r"a\*\* (now): no")],
)
def test_a_nick_is_only_a_name_in_markdown(nick: str, name: str) -> None:
    assert as_markdown(said(nick, "hi")).startswith(f"**{name}** (1970-01-01 ")


def test_who_has_no_nick_goes_by_the_id_in_markdown() -> None:
    assert as_markdown(said(None, "hi")).startswith("**55555555** (")


def test_a_text_makes_no_heading_and_no_list_in_markdown() -> None:
    shown = as_markdown(said("ann", "title\n=====\n- one\n+ two\nthree - four"))
    assert shown.endswith("title  \n\\=====  \n\\- one  \n\\+ two  \nthree - four\n")


def test_what_is_set_in_stays_so_in_markdown() -> None:
    shown = as_markdown(said("ann", "def f():\n    return  1\n\t- x"))
    space = "&nbsp;" * 4
    assert shown.endswith(f"def f():  \n{space}return{'&nbsp;' * 2}1  \n{space}\\- x\n")


def test_a_direct_message_names_how_many_before_it_are_lost() -> None:
    without = said("ann", "hi")._replace(via=DIRECT, dependencies=("p" * 64,))
    assert as_text(without).endswith("ann: hi [1 before it lost]")
    assert json.loads(direct_as_json("5" * 32, "6" * 32)(without))["gap"] == ["p" * 64]
    assert "lost" not in as_text(without._replace(dependencies=()))
    assert "gap" not in json.loads(direct_as_json("5" * 32, "6" * 32)(without._replace(dependencies=())))
