"""The command that compares keys with somebody."""

from __future__ import annotations

from sdschat.node.view.verifying import is_verified, person_called, set_verified, verified_people, words_with
from sdschat.tui.commands.talk import people
from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import nick_text, short

_ANSWERS = {"yes": True, "no": False}


def _verify(host: Host, argument: str) -> None:
    if not argument:
        _list(host)
        return
    name, _, answer = argument.rpartition(" ")
    if answer.lower() not in _ANSWERS or not name:
        name, answer = argument, ""
    node = host.view.node
    try:
        sender_id, nick = person_called(node, name.strip())
        words = " ".join(words_with(node, sender_id))
    except ValueError as error:
        raise CommandError(str(error)) from error
    if sender_id == node.sender_id:
        raise CommandError("That is your own key: there is nothing to compare.")
    who = f"{nick_text(nick)} ({short(sender_id, 8)})"
    if answer:
        set_verified(node, sender_id, _ANSWERS[answer.lower()])
        host.model.reload()
        host.answer(f"{who} is {'verified' if is_verified(node, sender_id) else 'not verified any more'}", "verify")
        return
    verified = " You have verified this key before." if is_verified(node, sender_id) else ""
    told = f"{words}\nDoes {who} see the same six words? Then: /verify {name.strip()} yes.{verified}"
    host.answer(told, "verify", stays=True)  # they are read to each other on the telephone


def _list(host: Host) -> None:
    verified = verified_people(host.view.node)
    if not verified:
        host.answer("You have verified nobody yet. /verify NICK shows six words to compare.", "verify")
        return
    found = "\n".join(f"verified: {nick_text(nick)} {short(sender_id, 8)}" for sender_id, nick in verified)
    host.answer(found, "verified")


COMMANDS = (
    Command(
        "verify",
        "/verify [NICK]",
        "Six words to compare with somebody, so that you know their key",
        _verify,
        details="Read them to each other on the telephone, say. If they are the same: /verify NICK yes.",
        complete=people,
        group="private",
    ),
)
