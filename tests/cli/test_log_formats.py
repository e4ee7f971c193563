"""The formats of `log`: nothing that others chose is more than text in them."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from markdown_it import MarkdownIt

from sdschat.cli.log_formats import DIRECT, as_markdown, as_text, direct_as_json
from sdschat.cli.output import safe
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
    [
        ("ann", "ann"),
        ("<b>", r"\<b\>"),
        ("[a](http://x)", r"\[a\](http&#58;//x)"),
        ("a** (now): no", r"a\*\* (now): no"),
    ],
)
def test_a_nick_is_only_a_name_in_markdown(nick: str, name: str) -> None:
    assert as_markdown(said(nick, "hi")).startswith(f"**{name}** (1970-01-01 ")


PIECES = (
    *(
        "ann",
        " ",
        "\n",
        "\t",
        "\u2003",
        "1",
        ".",
        ")",
        "-",
        "---",
        "=",
        "+",
        "#",
        ">",
        "*",
        "_",
        "~",
        "`",
        "|",
        "\\",
        "!",
    ),
    *("<b>", "&amp;", "[x](y)", "http://x.example", "www.x.example", "a@x.example", "$x$", ":", "**bob** (now):"),
)
DRAWN = {"inline", "text", "text_special", "strong_open", "strong_close", "hardbreak", "softbreak"}


@pytest.mark.parametrize("seed", range(8))
def test_a_message_is_one_paragraph_with_a_name_and_a_text_whatever_they_are(seed: int) -> None:
    """Markdown is drawn here by another program, as GitHub draws it. Addresses in a text may be links."""
    chance, markdown = random.Random(seed), MarkdownIt("gfm-like")
    for _ in range(500):
        nick, text, answered = ("".join(chance.choices(PIECES, k=chance.randrange(1, 6))) for _ in range(3))
        drawn = markdown.parse(as_markdown(said(nick, text), "", safe(answered)))
        assert [token.type for token in drawn] == ["paragraph_open", "inline", "paragraph_close"], (nick, text)
        inline = drawn[1].children or []
        head = list(itertools.takewhile(lambda token: token.type != "strong_close", inline))
        assert head[1].type == "strong_open", (nick, text)
        assert "".join(token.content for token in head).replace("\xa0", " ") == (safe(nick).strip() or "55555555")
        links = {"link_open", "link_close"} if "x.example" in text else set()
        assert {token.type for token in inline} <= DRAWN | links, (nick, text)


def test_who_has_no_nick_goes_by_the_id_in_brackets_as_in_text() -> None:
    """Anybody may take `ann` for a sender id: it looked like the nick of ann, which her key proves."""
    unsigned = said(None, "hi")._replace(sender_id="ann")
    assert as_markdown(unsigned).startswith(r"**\<ann\>** (")
    assert " <ann>: " in as_text(unsigned)


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
