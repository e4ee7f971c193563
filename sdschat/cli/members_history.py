"""The posts of a members' channel that are alive, for `log`, `tail` and `export`."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator

from sdschat.cli.histories import WantedHistory, matching
from sdschat.cli.json_events import post_object
from sdschat.node.members.events import MemberPost
from sdschat.node.members.saved import saved_posts
from sdschat.sds.values import AckState
from sdschat.store.display_rows import DisplayMessage
from sdschat.store.reader import Reader

_VIA = "timber"


class MembersHistory:
    """A `LocalHistory` of what is alive."""

    def __init__(self, reader: Reader, channel: str, me: str, nick: str) -> None:
        self._reader = reader
        self._channel = channel
        self._me, self._nick = me, nick
        self._posts: dict[str, MemberPost] = {}
        self._version = -1  # of the database, when it was read last

    def start(self) -> None:
        """Mark all present posts as seen."""
        self._read()

    def wanted(self, wanted: WantedHistory, *, with_raw: bool) -> Iterable[DisplayMessage]:
        self._read()
        chosen = matching(map(self._shown, self._posts.values()), wanted)
        return chosen if wanted.last is None else deque(chosen, wanted.last)

    def more(self) -> Iterator[DisplayMessage]:
        """Yield the posts that came since the last call, and those that were changed."""
        version = self._reader.data_version()
        if version == self._version:
            return
        before = self._posts
        self._read()
        for message_id, post in self._posts.items():
            told = before.get(message_id)
            if told is None or told.text != post.text:
                yield self._shown(post)

    def as_json(self, message: DisplayMessage) -> str:
        post = self._posts[message.message_id]
        line = {"event": "delivered", "channel": self._channel, "time": post.sent_at, "message": post_object(post)}
        line |= {"via": _VIA, "settled": post.settled} | ({"state": "queued"} if post.waiting else {})
        return json.dumps(line, separators=(",", ":"))

    def _read(self) -> None:
        self._version = self._reader.data_version()
        self._posts = {post.message_id: post for post in saved_posts(self._reader, self._channel, self._me, self._nick)}

    def _shown(self, post: MemberPost) -> DisplayMessage:
        return DisplayMessage(
            self._channel,
            post.message_id,
            post.sent_at,
            post.sender_id,
            (),
            post.own,
            _VIA,
            post.sent_at,
            post.nick,
            f"{post.text} (edited)" if post.edited else post.text,
            "known",
            post.sent_at,
            AckState.UNACKED if post.waiting else None,
            0,
            None,
            "",
        )
