"""The participants online in a channel: the retained presence messages, after verification."""

from __future__ import annotations

import secrets
from typing import Final

from sdschat.identity.content import Keys, Verdict, open_presence, seal_presence
from sdschat.identity.keys import Identity
from sdschat.node.events import PresenceChanged

DOUBT: Final = 5000  # after connecting anew, who has not shown up within so many milliseconds is taken to be gone
_MOST: Final = 4096  # anybody can make up participants
STORE: Final = "store"  # answers queries for what it has archived
ROLES: Final = frozenset({STORE})


class ChannelPresence:
    """The participants of one channel that are online, by sender id."""

    def __init__(self, channel: str, identity: Identity, keys: Keys) -> None:
        self.online: dict[str, str] = {}
        self.roles: dict[str, str] = {}  # of those online that proved to have one
        self.keys: dict[str, bytes] = {}  # of those online whose presence is signed
        self.role = ""  # our own
        self._channel = channel
        self._identity = identity
        self._keys = keys
        self._doubted: set[str] = set()

    def payload(self, nick: str, wall: int) -> bytes:
        """Return our own presence message, signed with our key."""
        nonce = secrets.token_bytes(16)
        return seal_presence(self._identity, self._channel, nick=nick, sent_time=wall, nonce=nonce, role=self.role)

    def heard(self, participant: str, payload: bytes) -> PresenceChanged | None:
        if participant == self._identity.sender_id:
            return None
        if not payload:
            return self._gone(participant)
        opened = open_presence(payload, self._channel, participant, self._keys)
        if opened.verdict in (Verdict.BAD_SIGNATURE, Verdict.MISMATCHED):
            return None
        self._doubted.discard(participant)
        nick = opened.nick if opened.verdict.signed else ""
        known = self.online.get(participant)
        if known is None and len(self.online) >= _MOST:
            return None
        if opened.verdict.signed:
            self.keys[participant] = opened.author_key
        self._note_role(participant, opened.text or "" if opened.verdict.signed else "")
        if known == nick:
            return None
        self.online[participant] = nick
        return PresenceChanged(participant, nick, True)

    def doubt(self) -> None:
        """A new connection, maybe to a new broker, which knows nothing of the last wills of the old one."""
        self._doubted = set(self.online)

    def settle(self) -> list[PresenceChanged]:
        """The time for showing up again is over."""
        gone = [found for participant in sorted(self._doubted) if (found := self._gone(participant)) is not None]
        self._doubted = set()
        return gone

    def _note_role(self, participant: str, role: str) -> None:
        if role in ROLES:
            self.roles[participant] = role
        else:
            self.roles.pop(participant, None)

    def _gone(self, participant: str) -> PresenceChanged | None:
        self._doubted.discard(participant)
        self.roles.pop(participant, None)
        self.keys.pop(participant, None)
        nick = self.online.pop(participant, None)
        return None if nick is None else PresenceChanged(participant, nick, False)
