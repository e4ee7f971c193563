"""Direct messages of a profile, read from the local database as a history."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.log_formats import DIRECT
from sdschat.cli.setting_sources import Chosen
from sdschat.identity.keyfile import KEY_FILE, KeyFileError, load
from sdschat.identity.signing import sender_id_of
from sdschat.node.profile import database_path
from sdschat.sds.rows import AckState
from sdschat.store.direct_rows import DirectRow
from sdschat.store.display_rows import DisplayMessage
from sdschat.store.reader import Reader

_SHORTEST_ID = 6
_SENT = 1  # the database knows if the partner has a message, not how often it was sent


class Partner(NamedTuple):
    """The other participant of a direct conversation, and the channels on which it took place."""

    sender_id: str
    channels: tuple[str, ...]


def own_id(chosen: Chosen) -> str:
    """Return the sender id of the profile, or an empty text if its key cannot be read."""
    with contextlib.suppress(OSError, KeyFileError):
        return load(database_path(chosen.data_dir, chosen.profile).parent / KEY_FILE).sender_id
    return ""


def find_partner(reader: Reader, name: str, channel: str | None) -> Partner:
    """Return the participant with this nick or id. Raises Problem if there is none, or more than one."""
    nicks: dict[str, set[str]] = {}
    channels: dict[str, list[str]] = {}
    for place in [channel] if channel is not None else [info.channel for info in reader.channels()]:
        for _, row in reader.direct(place):
            known = nicks.setdefault(row.peer, set())
            if not row.own:
                known.add(row.nick)
            if place not in channels.setdefault(row.peer, []):
                channels[row.peer].append(place)
    for key, nick, _ in reader.keys():  # noqa: SIM118
        if (sender_id := sender_id_of(key)) in nicks:
            nicks[sender_id].add(nick)
    found = [name] if name in nicks else sorted(peer for peer, known in nicks.items() if name in known)
    if not found and len(name) >= _SHORTEST_ID:
        found = sorted(peer for peer in nicks if peer.startswith(name))
    if len(found) > 1:
        listed = ", ".join(found)
        raise CommandProblem(
            f"Direct messages with several participants called {name}: {listed}. Give the id.", WRONG_USE
        )
    if not found:
        known_names = sorted({nick for known in nicks.values() for nick in known if nick})
        there = f"There are some with {', '.join(known_names[:8])}." if known_names else "There are none at all."
        raise CommandProblem(f"There are no direct messages with {name}{_on(channel)}. {there}", WRONG_USE)
    return Partner(found[0], tuple(channels[found[0]]))


def _on(channel: str | None) -> str:
    return "" if channel is None else f" on {channel}"


class DirectLog:
    """One conversation; `more` yields the messages that came since its last call, at first all."""

    def __init__(self, reader: Reader, partner: Partner, me: str) -> None:
        self._reader = reader
        self._partner = partner
        self._me = me
        self._places = dict.fromkeys(partner.channels, 0)

    def more(self) -> Iterator[DisplayMessage]:
        """Yield new messages, channel after channel, each in the order in which they came."""
        for channel, place in self._places.items():
            for at, row in self._reader.direct(channel, place):
                self._places[channel] = at
                if row.peer == self._partner.sender_id:
                    yield self._shown(channel, row)

    def _shown(self, channel: str, row: DirectRow) -> DisplayMessage:
        state = AckState(row.state) if row.own else None
        return DisplayMessage(
            channel,
            row.message_id,
            row.received_at,
            self._me if row.own else row.peer,
            (),
            row.own,
            DIRECT,
            row.received_at,
            row.nick,
            row.text,
            row.verdict,
            row.sent_at,
            state,
            _SENT,
            None,
            "",
        )
