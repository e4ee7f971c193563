"""The topics of a channel, and the meaning of a topic. Pure."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

DEFAULT_PREFIX = "sds/1"
MAX_CHANNEL_CHARACTERS = 100
# A channel in a topic is percent-encoded, so no channel can be called this.
_ECHO = "!echo"


def normal_channel(name: str) -> str:
    """Return the normal spelling of a channel's name (NFC). Raises ValueError, in words for the user, if invalid."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError("A channel's name cannot have half of a surrogate pair in it. Type it again.") from None
    normal = unicodedata.normalize("NFC", name)
    if not 1 <= len(normal) <= MAX_CHANNEL_CHARACTERS:
        raise ValueError(
            f"A channel's name has 1 to {MAX_CHANNEL_CHARACTERS} characters, not {len(normal)}. Choose another one."
        )
    if any(unicodedata.category(character) == "Cc" for character in normal):
        raise ValueError("A channel's name cannot have control characters, such as a line break, in it.")
    return normal


def encoded(name: str) -> str:
    """Percent-encode all but the unreserved characters: the result is safe as one level of a topic."""
    return quote(name, safe="")


def decoded(level: str) -> str | None:
    """Return the name in one level of a topic. None if `encoded` cannot make that level."""
    try:
        name = unquote_to_bytes(level).decode()
    except UnicodeDecodeError:
        return None
    # Another spelling of the same name would be a second topic for the same channel or participant.
    return name if encoded(name) == level else None


class ParsedTopic(NamedTuple):
    """The meaning of a topic; `to` and `frm` are participants, if the topic names them."""

    channel: str
    what: str  # msg, who, sync, store/query, store/answer, timber
    to: str = ""
    frm: str = ""


class Topics:
    """The topics of one channel."""

    __slots__ = ("_base", "_prefix", "channel")

    def __init__(self, channel: str, prefix: str = DEFAULT_PREFIX) -> None:
        self.channel = normal_channel(channel)
        self._prefix = normal_prefix(prefix)
        self._base = f"{self._prefix}/{encoded(self.channel)}"

    @property
    def msg(self) -> str:
        return f"{self._base}/msg"

    def who(self, participant: str) -> str:
        return f"{self._base}/who/{encoded(participant)}"

    @property
    def who_all(self) -> str:
        return f"{self._base}/who/+"

    def sync(self, to: str, frm: str) -> str:
        return f"{self._base}/sync/{encoded(to)}/{encoded(frm)}"

    def sync_to(self, me: str) -> str:
        return f"{self._base}/sync/{encoded(me)}/+"

    def store_query(self, frm: str) -> str:
        return f"{self._base}/store/query/{encoded(frm)}"

    @property
    def store_query_all(self) -> str:
        return f"{self._base}/store/query/+"

    def store_answer(self, to: str) -> str:
        return f"{self._base}/store/answer/{encoded(to)}"

    def timber(self, to: str, frm: str) -> str:
        return f"{self._base}/timber/{encoded(to)}/{encoded(frm)}"

    def timber_to(self, me: str) -> str:
        return f"{self._base}/timber/{encoded(me)}/+"

    @property
    def announcement(self) -> str:
        return f"{self._base}/timber"

    @property
    def everything(self) -> str:
        return f"{self._base}/#"

    def place(self, topic: str) -> ParsedTopic | None:
        """Return the meaning of a topic, or None if it does not belong to this channel. Never raises."""
        found = place(topic, self._prefix)
        return found if found is not None and found.channel == self.channel else None


def normal_prefix(prefix: str) -> str:
    """Return the prefix. Raises ValueError unless it is whole levels without wildcards."""
    levels = prefix.split("/")
    if not all(levels) or any(character in prefix for character in "+#\0"):
        raise ValueError(f"mqtt.topic_prefix is {prefix!r}, and must be one or more levels such as {DEFAULT_PREFIX}")
    return prefix


def echo_topic(client_id: str, prefix: str = DEFAULT_PREFIX) -> str:
    """Return the topic of a connection's probe, which checks that the broker still forwards packets."""
    return f"{normal_prefix(prefix)}/{_ECHO}/{encoded(client_id)}"


def place(topic: str, prefix: str = DEFAULT_PREFIX) -> ParsedTopic | None:
    """Return the meaning of any topic under the prefix, or None. Never raises."""
    if not topic.startswith(f"{prefix}/"):
        return None
    names = [decoded(level) for level in topic[len(prefix) + 1 :].split("/")]
    match names:
        case [str(channel), "msg" | "timber" as what]:
            return ParsedTopic(channel, what)
        case [str(channel), "who", str(frm)]:
            return ParsedTopic(channel, "who", frm=frm)
        case [str(channel), "sync" | "timber" as what, str(to), str(frm)]:
            return ParsedTopic(channel, what, to, frm)
        case [str(channel), "store", "query", str(frm)]:
            return ParsedTopic(channel, "store/query", frm=frm)
        case [str(channel), "store", "answer", str(to)]:
            return ParsedTopic(channel, "store/answer", to)
    return None


def matches(topic_filter: str, topic: str) -> bool:
    """True if a subscription to this filter receives this topic, as in MQTT 4.7."""
    wanted, levels = topic_filter.split("/"), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):
        return False
    for index, level in enumerate(wanted):
        if level == "#":
            return True
        if index == len(levels) or level not in ("+", levels[index]):
            return False
    return len(wanted) == len(levels)
