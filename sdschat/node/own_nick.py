"""The nick of a profile's own key, kept from one start to the next."""

from __future__ import annotations

from sdschat.identity.lookalikes import skeleton
from sdschat.node.profile import Profile


def kept_nick(profile: Profile) -> str:
    """Return the nick that the key of this profile last went by; empty if it went by none yet."""
    nick, _ = _kept(profile, 0)
    return nick


def keep_nick(profile: Profile, nick: str, now: int) -> None:
    """Keep our nick. It is ours from then on, if nobody had it before. A message that is signed in SDS does this too,
    but in members' channels there is none."""
    own, form = profile.identity.public_key, skeleton(nick)
    before, first_seen = _kept(profile, now)
    held = not form or any(form == other for other, _, _, _ in profile.store.nicks())
    if before == nick and held:
        return
    with profile.store.transaction() as transaction:
        transaction.put_key(own, nick, first_seen)
        if not held:
            transaction.put_nick(form, nick, own, now)


def _kept(profile: Profile, now: int) -> tuple[str, int]:
    known, own = profile.store.keys(), profile.identity.public_key
    return next(((nick, first_seen) for key, nick, first_seen in known if key == own), ("", now))
