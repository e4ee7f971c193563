"""The nick of a profile's own key, kept from one start to the next."""

from __future__ import annotations

from sdschat.identity.lookalikes import skeleton
from sdschat.identity.signing import nick_of
from sdschat.node.profile import Profile


def kept_nick(profile: Profile) -> str:
    """Return the nick that the key of this profile last went by; empty if it went by none yet."""
    return nick_of(profile.store.keys(), profile.identity.public_key)


def keep_nick(profile: Profile, nick: str, now: int) -> None:
    """Keep our nick. It is ours from then on, if nobody had it before. A message that is signed in SDS does this too,
    but in members' channels there is none."""
    own, form = profile.identity.public_key, skeleton(nick)
    rows = profile.store.keys()
    before, first_seen = next(((nick, seen) for key, nick, seen in rows if key == own), ("", now))
    held = not form or any(form == other for other, _, _, _ in profile.store.nicks())
    if before == nick and held:
        return
    with profile.store.transaction() as transaction:
        transaction.put_key(own, nick, first_seen)
        if not held:
            transaction.put_nick(form, nick, own, now)
