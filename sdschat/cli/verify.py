"""`sdschat verify`: six words that two people compare, so that each knows the other's key."""

from __future__ import annotations

import time

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem, channel_name, in_the_chat, say
from sdschat.cli.histories import open_reader, own_id, require_channel, senders_called
from sdschat.cli.options import Chosen, local_options
from sdschat.cli.output import moment, safe
from sdschat.identity.key_book import KeyStanding, opened_standing
from sdschat.identity.keyfile import load_or_create
from sdschat.identity.safety_words import safety_words
from sdschat.identity.signing import nicks_by_sender, sender_id_of
from sdschat.node.private.record import private_state
from sdschat.node.profile import open_profile
from sdschat.store.reader import Reader


@click.command("verify")
@click.argument("channel", required=False)
@click.argument("nick", required=False)
@click.option("--confirm", is_flag=True, help="The words were the same: remember this key as verified.")
@click.option("--forget", is_flag=True, help="Remember the key as not verified.")
@local_options
def command(chosen: Chosen, channel: str | None, nick: str | None, confirm: bool, forget: bool) -> None:
    """Show six words of your key and that of somebody else. Without names: everybody whom you have verified.

    \b
    Examples:
      sdschat verify garden bob --name ann            six words to read to bob
      sdschat verify garden bob --name ann --confirm  bob saw the same words
      sdschat verify --name ann                       whom you have verified

    Both see the same words only if each has the other's true key. Whoever comes with another key under a verified
    nick is an alarm. In the chat: /verify.
    """
    if channel is None and not (confirm or forget):
        _list(chosen)
        return
    if channel is None or not (nick or "").strip(" @") or nick is None or (confirm and forget):
        raise CommandProblem("Name a channel and a nick, and at most one of --confirm and --forget.", WRONG_USE)
    with open_reader(chosen) as reader:
        key, name = _key_of(chosen, reader, require_channel(reader, chosen, channel_name(channel)), nick)
    path = chosen.database
    own = load_or_create(path.parent)
    if key == own.public_key:
        raise CommandProblem("That is your own key: there is nothing to compare.", WRONG_USE)
    if confirm or forget:
        with in_the_chat(f"/verify {safe(name)} {'yes' if confirm else 'no'}"):
            _remember(chosen, sender_id_of(key), confirm)
        say(f"{safe(name)} ({sender_id_of(key)}) is {'verified' if confirm else 'not verified any more'}.")
        return
    click.echo(" ".join(safety_words(own.public_key, key)))
    say(f"Does {safe(name)} ({sender_id_of(key)}) see the same six words? Then say so with --confirm.")


def _list(chosen: Chosen) -> None:
    with open_reader(chosen) as reader:
        nicks = nicks_by_sender(reader.keys())
        verified = [row for row in reader.standings() if row[1] & KeyStanding.VERIFIED]
    if not verified:
        say("You have verified nobody yet: sdschat verify CHANNEL NICK.")
    for sender_id, _, since in verified:
        click.echo(f"{safe(nicks.get(sender_id, '')) or '(no nick)'} {sender_id} since {moment(since)}")


def _key_of(chosen: Chosen, reader: Reader, channel: str, name: str) -> tuple[bytes, str]:
    """Return the key and nick of the one participant of this name. Raises CommandProblem for none or several."""
    state = private_state(reader, channel)
    keys = {sender_id_of(key): (key, nick) for key, nick, _ in reader.keys()}  # noqa: SIM118
    known = {sender_id: nick for sender_id, (_, nick) in keys.items() if state is None or sender_id in state.members}
    found = senders_called(known.items(), name, own_id(chosen))
    if len(found) > 1:
        listed = ", ".join(f"{safe(known[sender_id])} ({sender_id[:8]})" for sender_id in found)
        raise CommandProblem(f"Several go by {safe(name)}: {listed}. Give the id.", WRONG_USE)
    return keys[found[0]]


def _remember(chosen: Chosen, sender_id: str, verified: bool) -> None:
    profile = open_profile(chosen.database, chosen.settings)
    with profile.store as store:
        before = opened_standing(next((row[1] for row in store.standings() if row[0] == sender_id), 0))
        standing = before | KeyStanding.VERIFIED if verified else before & ~KeyStanding.VERIFIED
        with store.transaction() as transaction:
            transaction.put_standing(sender_id, int(standing), time.time_ns() // 1_000_000)
