"""Messages of others on their way into the log."""

from __future__ import annotations

import pytest

from sdschat.tui.model.from_events import entry_of, links_in, mention_of
from sdschat.tui.model.items import Phase
from tests.tui.model.samples import entry, own, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://a.example/x.", ["https://a.example/x"]),
        ("(http://a.example/b_(c))", ["http://a.example/b_(c)"]),
        ("https://a.example/b https://a.example/b/c", ["https://a.example/b", "https://a.example/b/c"]),
        ("javascript:alert(1) file:///etc/passwd ftp://x", []),
        ("https://a.example/b https://a.example/b", ["https://a.example/b"]),
        ("https://ex\u200bample.org/x", ["https://ex"]),
    ],
)
def test_links_are_of_http_alone_and_end_where_the_sentence_goes_on(text: str, expected: list[str]) -> None:
    assert links_in(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ann: hi", True), ("hi @ann!", True), ("HELLO ANN", True), ("annoying", False), ("joann", False), ("", False)],
)
def test_a_mention_is_the_nick_as_a_word_of_its_own(text: str, expected: bool) -> None:
    assert mention_of("ann")(text) is expected


def test_a_nick_with_signs_is_no_pattern() -> None:
    assert mention_of("a.*b(")("hello a.*b( there")
    assert not mention_of("a.*b")("a xx b")


def test_own_messages_mention_nobody() -> None:
    assert not entry_of(shown(1, "ann", own=True), mention_of("ann")).mention


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("known", ""),
        ("new", "new key"),
        ("unsigned", "unsigned"),
        ("bad_signature", "BAD SIGNATURE"),
        ("mismatched", "NOT THE SENDER'S"),
        ("", ""),
        ("of the future", ""),
    ],
)
def test_what_a_signature_is_worth_is_said(verdict: str, expected: str) -> None:
    assert entry(1, verdict=verdict).remark == expected


def test_a_content_that_is_no_text_says_so() -> None:
    found = entry(1, None)
    assert not found.readable
    assert "not text" in found.text


def test_control_characters_do_not_come_in() -> None:
    found = entry(1, "a\x1b]52;c;eA==\x07b", nick="\x1b[31mbob\x9b")
    assert "\x1b" not in found.text + found.nick
    assert "\x07" not in found.text
    assert "\x9b" not in found.nick


def test_an_old_own_message_without_a_record_counts_as_acknowledged() -> None:
    fate = entry(1, own=True, state=None).fate
    assert fate is not None
    assert fate.phase is Phase.ACKED
    assert own(1).fate is not None
