"""Rows made from messages of the node. Texts of messages are made safe to draw here, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sdschat.node.view.values import AckState, ContentKind, Shown, Verdict
from sdschat.tui.model.items import Doubt, Fate, MessageItem, Phase, Quote
from sdschat.tui.model.words import clean, nick_text

_PHASES: Final = {
    AckState.UNACKED: Phase.UNACKED,
    AckState.POSSIBLY_ACKED: Phase.MAYBE,
    AckState.ACKED: Phase.ACKED,
}
_VERDICTS: Final[dict[str, tuple[str, Doubt]]] = {
    Verdict.NEW: ("new key", Doubt.NEW_KEY),
    Verdict.UNSIGNED: ("unsigned", Doubt.UNPROVEN),
    Verdict.BAD_SIGNATURE: ("BAD SIGNATURE", Doubt.FORGERY),
    Verdict.NOT_MEMBER: ("not shown", Doubt.UNPROVEN),
    Verdict.MISMATCHED: ("NOT THE SENDER'S", Doubt.FORGERY),
}
_LINK: Final = re.compile(r"https?://[\x21-\x7e]+", re.ASCII)
_INVITE: Final = re.compile(r"\bsdschat:[\w-]{64,}", re.ASCII)
_TRAILING: Final = ".,;:!?\"'"


def phase_of(state: AckState) -> Phase:
    return _PHASES[state]


def entry_of(shown: Shown, mentions: Callable[[str], bool], quote: Quote | None = None) -> MessageItem:
    """Return the row of a message. `mentions` returns True for a text that contains our nick."""
    readable = shown.text is not None
    text = clean(shown.text or "", lines=True).strip("\n") if readable else "(this content is not text)"
    if shown.verdict == Verdict.NOT_MEMBER:
        text = "(written by somebody who was no member)"
    if shown.hidden:
        text = f"({shown.hidden})"
    fate, (remark, doubt) = None, _remark(shown)
    if shown.own:
        fate = Fate(Phase.ACKED if shown.state is None else phase_of(shown.state))
    return MessageItem(
        key=shown.key,
        sender_id=shown.sender_id,
        nick=nick_text(shown.nick),
        text=text,
        verdict=shown.verdict,
        own=shown.own,
        received_at=shown.received_at,
        sent_at=shown.sent_at,
        via=shown.via,
        action=shown.kind in (ContentKind.ACTION, ContentKind.OPERATION),
        reply_to=shown.reply_to,
        dependencies=shown.dependencies,
        fate=fate,
        mention=not shown.own and readable and mentions(text),
        readable=readable,
        remark=remark,
        doubt=doubt,
        quote=quote,
    )


def _remark(shown: Shown) -> tuple[str, Doubt]:
    """Return the remark on a message, empty if its author is proven and known, and the reason for it."""
    if shown.damaged:
        return shown.damaged, Doubt.UNPROVEN
    if shown.twice:
        return "SAYS TWO THINGS", Doubt.FORGERY
    found = ("", Doubt.NONE) if shown.own else _VERDICTS.get(shown.verdict, ("", Doubt.NONE))
    return (f"{found[0]}, TWO COPIES".lstrip(", "), Doubt.FORGERY) if shown.other_copy else found


def link_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of links: http and https, printable ASCII, without the punctuation of the sentence."""
    found = []
    for match in _LINK.finditer(text):
        link = match.group().rstrip(_TRAILING)
        while link.endswith((")", "]", ">")) and link.count(link[-1]) > link.count(_OPENING[link[-1]]):
            link = link[:-1].rstrip(_TRAILING)
        found.append((match.start(), match.start() + len(link)))
    return found


def links_in(text: str) -> list[str]:
    """Return the links of a text, each once."""
    return list(dict.fromkeys(text[start:end] for start, end in link_spans(text)))


def invites_in(text: str) -> list[str]:
    """Return the links of a text that lead into private channels, each once."""
    return list(dict.fromkeys(_INVITE.findall(text)))


_OPENING: Final = {")": "(", "]": "[", ">": "<"}


def mention_of(*words: str) -> Callable[[str], bool]:
    """Return a function that is True for a text with one of these, a nick or another word, as a word of its own."""
    wanted = "|".join(re.escape(word) for word in words if word.strip())
    if not wanted:
        return lambda text: False
    found = re.compile(rf"(?<!\w)@?(?:{wanted})(?!\w)", re.IGNORECASE)
    return lambda text: found.search(text) is not None
