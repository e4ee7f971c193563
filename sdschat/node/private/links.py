"""Names and links that a person gives for a channel, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from sdschat.identity.private.link import LinkError, channel_name, is_private_name, read_link
from sdschat.node.private.record import (
    PrivateValues,
    base_name,
    full_name,
    is_link,
    load_record,
    private_channels,
    take_link,
)
from sdschat.node.view.user_texts import last_broker, saved_text
from sdschat.transport.address import parse_url
from sdschat.transport.base import new_channel

if TYPE_CHECKING:
    from sdschat.store.store import Store
    from sdschat.store.transaction import Transaction

_ELSEWHERE: Final = "private-elsewhere/"


def enter(store: Store, text: str, now: int) -> str:
    """Return the name of the channel that a name or a link means. What a link holds is kept with the profile.

    Raises ValueError, in words for a person, for a link that is refused, for the full name of a private channel that
    this profile is not in, since an open channel of that name would look like it, for @NICK, and for a new name that
    cannot be told from another by its looks.
    """
    if not is_link(text):
        name = full_name(store, text)
        if store.has_channel(name):
            return name
        if is_private_name(name) and load_record(store, name) is None:
            raise LinkError(
                f"{name} is a private channel that this profile was not invited to. Join by a link, which a member "
                "makes with /invite, or choose another --profile."
            )
        elsewhere = _private_elsewhere(store, name)
        if elsewhere:
            raise LinkError(
                f"{elsewhere} is a private channel, and your key was in it before it came here. Without an invite "
                f"{name} would be an open channel, which everybody can read. Ask a member for an invite (/invite), or "
                "choose another --profile."
            )
        try:
            new_channel(name)
        except ValueError as error:
            raise LinkError(str(error)) from error
        if name.startswith("@"):
            raise LinkError(
                f"{name} would be an open channel, which everybody can read. To write to one participant alone: "
                "/msg NICK TEXT in the chat, or sdschat send CHANNEL TEXT --to NICK."
            )
        return name
    record = take_link(store, text, now)
    with store.transaction() as transaction:
        record.save(transaction)
    return record.name


def note_private_names(transaction: Transaction, names: Iterable[str]) -> None:
    """Keep the full names of private channels that this key is in, and this profile has no keys of."""
    for name in names:
        transaction.set_value(_ELSEWHERE + name, b"")


def private_names(store: PrivateValues) -> list[str]:
    """Return the full names of the private channels that the key of a profile is known to be in."""
    return sorted({*private_channels(store), *_noted(store)})


def _noted(store: PrivateValues) -> list[str]:
    return [name.removeprefix(_ELSEWHERE) for name in store.values(_ELSEWHERE)]


def _private_elsewhere(store: Store, name: str) -> str:
    """Return the full name of a private channel that goes by this name and was noted; empty if there is none."""
    return next(
        (full for full in _noted(store) if name in (full, base_name(full)) and load_record(store, full) is None), ""
    )


def link_channel(text: str) -> str:
    """Return the full name of the channel that a link invites to."""
    return channel_name(read_link(text, 0).genesis)


def invites_to_members(text: str) -> bool:
    """True if a text is a link to a members' channel. Raises LinkError for a link that is refused."""
    return is_link(text) and bool(read_link(text, 0).genesis.data_set)


def gives_since_join(text: str) -> bool:
    """True if a text is a link to a channel that gives no older history. Raises LinkError for a refused link."""
    return is_link(text) and read_link(text, 0).genesis.since_join


def link_broker(text: str) -> str:
    """Return the address of the broker in a link; empty for the one of this machine."""
    return read_link(text, 0).broker


def is_for_here_alone(text: str) -> bool:
    """True if a link leads to the broker of this machine, which somebody elsewhere does not find by it."""
    return is_near(link_broker(text))


def is_near(broker: str) -> bool:
    """True for a broker of this machine, whose address means another machine elsewhere."""
    return not broker or parse_url(broker)[0].loopback


def broker_of(store: PrivateValues, text: str) -> str:
    """Return the broker of the private channel that a name or a link means: of a name, where the chat was on it last.
    Empty for other channels, or if none is known."""
    if is_link(text):
        return link_broker(text)
    record = load_record(store, full_name(store, text))
    if record is None:
        return ""
    last = saved_text(store.value, last_broker(record.name))
    return last if "://" in last else record.broker


def broker_for_others(store: PrivateValues, channel: str) -> str:
    """Return the broker for a link into a private channel: that of the chat, unless others do not find it there."""
    last = broker_of(store, channel)
    record = load_record(store, channel)
    return last if record is None or not is_near(last) or is_near(record.broker) else record.broker
