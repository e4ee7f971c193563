"""The engine of a channel, from disk, and the wire format that the channel has."""

from __future__ import annotations

from sdschat.identity.sync_proof import SigningCodec
from sdschat.node.channel.content import ContentGate
from sdschat.node.channel.dialect import choose_dialect, codec_for, keep_dialect
from sdschat.node.clock import Clock
from sdschat.node.profile import Profile
from sdschat.node.settings import Settings
from sdschat.sds.channel import Channel
from sdschat.sds.config import Config
from sdschat.sds.values import Codec
from sdschat.store.store import Store


def open_channel(
    name: str, profile: Profile, gate: ContentGate, settings: Settings, clock: Clock
) -> tuple[Channel, Codec, str]:
    """Return the engine, the codec and the dialect of a channel. Raises ValueError for one of another dialect."""
    dialect = choose_dialect(profile.store, name, settings)
    codec = codec_for(dialect, settings)
    signing = SigningCodec(codec, gate.identity, name)
    sender_id = gate.identity.sender_id
    engine = open_engine(name, sender_id, profile.store, signing, profile.chance, clock, settings.config)
    keep_dialect(profile.store, name, dialect)
    return engine, codec, dialect


def open_engine(
    name: str, sender_id: str, store: Store, codec: Codec, secret: bytes, clock: Clock, config: Config
) -> Channel:
    """Return the engine of a channel as it is on disk, or a new one. It is offline until its transport connects."""
    kept = store.channel(name)
    return Channel(
        name,
        sender_id,
        codec=codec,
        history=kept.history,
        secret=secret,
        now=clock.now(),
        config=config,
        snapshot=kept.snapshot(),
        online=False,
    )
