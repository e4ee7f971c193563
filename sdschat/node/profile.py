"""The paths of the files of a profile, and functions that open them."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from sdschat.identity.keyfile import KEY_FILE, KeyFileError, load, load_or_create
from sdschat.identity.signing import Identity, by_name, nick_of
from sdschat.node.settings import Settings
from sdschat.sds.values import Codec
from sdschat.store.files import prepare_directory
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.store import Store
from sdschat.wire.nim_codec import EitherCodec

DATABASE: Final = "sdschat.db"
_MAX_NAME: Final = 200
_CHANCE: Final = "chance"  # under this name the store keeps what the jitter of timers is drawn from


class ProfileError(ValueError):
    """A profile's name cannot be used."""


def default_data_dir() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("sdschat", appauthor=False))


def database_path(data_dir: Path, profile: str) -> Path:
    """Return the path of a profile's database. The name of the profile becomes one level of it, whatever is in the
    name. Raises ProfileError for a name that cannot."""
    level = quote(profile, safe=" @+")
    if not profile.strip() or level in (".", "..") or len(level) > _MAX_NAME:
        raise ProfileError(f"{profile!r} cannot be a profile's name. Choose another one with --profile.")
    return data_dir / "profiles" / level / DATABASE


def profile_name(path: Path) -> str:
    """Return the name of the profile that a database belongs to, as it was given to `database_path`."""
    return unquote(path.parent.name)


def profile_names(data_dir: Path) -> list[str]:
    """Return the profiles that are there, whether this user may open them or not."""
    return sorted(map(profile_name, data_dir.glob(f"profiles/*/{DATABASE}")), key=by_name)


def last_nick(path: Path) -> str:
    """Return the nick under which a profile last wrote something, by the path of its database; empty if it did not, or
    has no readable key. Raises StoreError for a database that cannot be read."""
    with contextlib.suppress(OSError, KeyFileError):
        own = load(path.parent / KEY_FILE).public_key
        with contextlib.closing(Store.open_read_only(path, EitherCodec())) as reader:
            return nick_of(reader.keys(), own)
    return ""


class Profile(NamedTuple):
    """An open profile: nobody else has it."""

    store: Store
    identity: Identity
    codec: Codec  # for what is on disk, whatever its channel speaks
    chance: bytes


def open_profile(path: Path, settings: Settings) -> Profile:
    """Open a profile, or make it. Raises what `Store.open` and `load_or_create` raise: texts for a person, with exit
    codes."""
    codec = EitherCodec(settings.config.max_message_bytes)
    prepare_directory(path)
    identity = load_or_create(path.parent)
    journal = JournalSettings(identity.sender_id, secrets.token_hex(8), settings.journal_keep)
    store = Store.open(path, codec, journal=journal)
    try:
        return Profile(store, identity, codec, _chance(store))
    except BaseException:
        store.close()
        raise


def _chance(store: Store) -> bytes:
    """Return the secret of the engine's random choices. It is made once: an engine restored from disk chooses as it
    would have."""
    kept = store.value(_CHANCE)
    if kept is None:
        kept = secrets.token_bytes(32)
        with store.transaction() as transaction:
            transaction.set_value(_CHANCE, kept)
    return kept
