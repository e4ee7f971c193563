"""The wire format of a channel: that of the specification, or that of nim-sds."""

from __future__ import annotations

from sdschat.node.settings import SettingError, Settings
from sdschat.sds.values import Codec
from sdschat.store.store import Store
from sdschat.wire.nim_codec import NimCodec
from sdschat.wire.sds_codec import SdsCodec


def choose_dialect(store: Store, channel: str, settings: Settings) -> str:
    """Return the wire format that the channel was used with before, or else that of the settings. Raises SettingError
    if these differ: what is kept of the channel is in the bytes it was received in, and goes out again in them."""
    kept = store.value(_key(channel))
    before = kept.decode() if kept is not None else "spec" if store.number(channel) is not None else None
    if "sds.wire" not in settings.explicit:
        return before or settings.wire
    if before is not None and before != settings.wire:
        raise SettingError(
            f"{channel} was used with sds.wire={before}, and what is kept of it is in those bytes. Leave out the "
            "setting, or choose another channel or --profile."
        )
    return settings.wire


def keep_dialect(store: Store, channel: str, dialect: str) -> None:
    """Save the wire format of a channel if it is not that of the specification and none is saved yet."""
    if dialect != "spec" and store.value(_key(channel)) is None:
        with store.transaction() as transaction:
            transaction.set_value(_key(channel), dialect.encode())


def codec_for(dialect: str, settings: Settings) -> Codec:
    limit = settings.config.max_message_bytes
    return NimCodec(limit) if dialect == "nim" else SdsCodec(limit)


def _key(channel: str) -> str:
    return f"wire/{channel}"
