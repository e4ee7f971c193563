"""Commands of private channels: making one, inviting, removing."""

from __future__ import annotations

from sdschat.node.quantities import duration
from sdschat.node.view import members, private
from sdschat.node.view.members import has_members, members_of
from sdschat.node.view.qr import qr_lines
from sdschat.tui.commands.talk import people
from sdschat.tui.host import Command, Host
from sdschat.tui.model.results import CommandError, quoted_words
from sdschat.tui.model.words import ASCII, clean_name

_SINCE_JOIN = "since-join"
_KINDS = frozenset({"private", "members", _SINCE_JOIN})
_CREATED, _INVITE = "channel", "invite"  # titles of answers


def _create(host: Host, argument: str) -> None:
    wanted, kinds = _made(argument)
    if "members" in kinds:
        _create_members(host, wanted, secret="private" in kinds)
        return
    since_join = _SINCE_JOIN in kinds
    try:
        name = host.open_channel(private.create(host.view.node, wanted, since_join=since_join))
    except ValueError as error:
        raise CommandError(str(error)) from error
    host.show_channel(name)
    older = " Who joins gets nothing that was written before." if since_join else ""
    host.answer(
        f"{clean_name(name)} is private: only those read it whom you invite.{older} /invite makes a link. "
        "You may /remove members, and so may admins (/admin NICK); nobody can change or delete what is written.",
        _CREATED,
    )


def _made(argument: str) -> tuple[str, frozenset[str]]:
    """Return the name and the kinds of a channel to make. A kind may stand as the option of `sdschat create`, too."""
    name, *rest = quoted_words(argument, 'A name with spaces stands in quotes: /create "my room".') or [""]
    kinds = frozenset(word.removeprefix("--") for word in rest)
    if not name:
        raise CommandError("/create needs a name: /create garden.")
    if name.startswith("--"):
        raise CommandError(f"The name stands first: /create garden {clean_name(name.removeprefix('--'))}.")
    if other := kinds - _KINDS:
        raise CommandError(
            f"Behind the name may stand private, members or since-join, and not {clean_name(min(other))}. A name with "
            'spaces stands in quotes: /create "my room".'
        )
    if kinds >= {"members", _SINCE_JOIN}:
        raise CommandError("since-join is for a channel without posts: what is in a data set, all its members have.")
    return name, kinds


def _create_members(host: Host, wanted: str, *, secret: bool) -> None:
    make = members.create_private if secret else members.create
    try:
        name = host.open_channel(make(host.view.node, wanted))
    except ValueError as error:
        raise CommandError(str(error)) from error
    host.show_channel(name)
    what = "a private members' channel" if secret else "a members' channel"
    how = "/invite makes a link, and /invite NICK lets in who came by it" if secret else "/invite NICK lets others in"
    host.answer(
        f"{clean_name(name)} is {what}, and you are its first member. {how}. "
        "Whoever wrote a post may /edit and /delete it, and you may delete any.",
        _CREATED,
    )


def _invite(host: Host, argument: str) -> None:
    state = private.privacy(host.view.node, host.channel)
    if has_members(host.view.node, host.channel) and not (state is not None and all(map(_limits, argument.split()))):
        _let_in(host, argument)
        return
    uses, lasts = 0, 0
    for word in argument.split():
        if word.isdecimal() and int(word) > 0:
            uses = int(word)
        else:
            lasts = _time(word)
    try:
        link = private.invite(host.view.node, host.channel, uses, lasts)
    except ValueError as error:
        raise CommandError(str(error)) from error
    how_many = f"{uses} may" if uses else "whoever has it may"
    until = "" if not lasts else f", for {argument.split()[-1]}"
    way = "/join LINK" if host.view.guest else "/join LINK or sdschat join LINK"
    words = (
        f"An invite: {how_many} join by it{until}, with {way}. Give it to people, not to places: it has the key, so "
        "whoever gets hold of it can read"
    )
    if state is not None and state.since_join:
        words += " what is written from now on, also once it is used up, until the next /invite or /remove."
    else:
        words += (
            ", also once it is used up, until /remove makes a new key. Where it is hard to copy from here, sdschat "
            f"invite {host.channel} prints one."
        )
    if private.is_for_here_alone(link) and not host.view.guest:
        words += " It leads to the broker of this machine, and is of use here alone: /help invite."
    picture = qr_lines(link, dark_ink=host.on_light, ascii_only=host.glyphs is ASCII)
    host.show_secret(link, _INVITE, words, picture)


def _let_in(host: Host, argument: str) -> None:
    """Let somebody, or several, into a members' channel. A nick may have a blank in it: the whole comes first."""
    if not argument:
        raise CommandError("/invite needs a nick in a members' channel: /invite bob.")
    members, several = members_of(host.view.node, host.channel), argument.replace(",", " ").split()

    def let_in(nick: str) -> None:
        members.invite(nick)
        host.answer(f"{clean_name(nick)} is invited, and may write once all members know it.", _INVITE)

    try:
        try:
            let_in(argument)
        except ValueError:
            if len(several) < 2:
                raise
            for nick in several:
                let_in(nick)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _limits(word: str) -> bool:
    """True if a word is a number of people or a time, and no nick."""
    try:
        return word.isdecimal() or duration(word) > 0
    except ValueError:
        return False


def _time(word: str) -> int:
    try:
        found = duration(word)
    except ValueError as error:
        raise CommandError(f"/invite takes a number of people and a time, as in /invite 3 7d, not {word}.") from error
    return found


def _remove(host: Host, argument: str) -> None:
    _put_out(host, "remove", argument)


def _ban(host: Host, argument: str) -> None:
    _put_out(host, "ban", argument)


def _put_out(host: Host, command: str, argument: str) -> None:
    """Remove or ban a member: with `yes` behind the name, else say what it would do."""
    name, _, sure = argument.rpartition(" ") if argument.endswith(" yes") else (argument, "", "")
    if not name:
        raise CommandError(f"/{command} needs a member: /{command} carol.")
    banned = command == "ban"
    try:
        sender_id = private.removable(host.view.node, host.channel, name, banned=banned)
        member = bool(private.members_of_these(host.view.node, host.channel, frozenset({sender_id})))
        who = host.model.name_of(sender_id) if member else clean_name(name)  # no nick is kept of others
        would = "banned" if banned else "removed"
        halts = private.halt_words(host.view.node, host.channel, sender_id)
        if not sure:
            host.warn(
                f"{who} would be {would}: the key is changed, {who} does not get it, and no link that was given "
                f"away is of use any more. {f'{halts} ' if halts else ''}/{command} {clean_name(name)} yes does it."
            )
            return
        state = private.privacy(host.view.node, host.channel)
        private.remove(host.view.node, host.channel, sender_id, banned=banned)
    except ValueError as error:
        raise CommandError(str(error)) from error
    alone = " You are the only member now." if state is not None and state.members - member <= 1 else ""
    again = ", unless you invite them again" if banned else ", unless invited again"
    again = "" if state is not None and state.since_join else again
    host.warn(f"{who} is {would}, and reads nothing that is written from now on{again}.{alone}")


def _admin(host: Host, argument: str) -> None:
    name, granted = argument.removesuffix(" off").strip(), not argument.endswith(" off")
    if not name:
        raise CommandError("/admin needs a member: /admin carol, or /admin carol off.")
    try:
        private.appoint(host.view.node, host.channel, name, granted)
    except ValueError as error:
        raise CommandError(str(error)) from error


COMMANDS = (
    Command(
        "create",
        "/create CHANNEL [private|members|since-join]",
        "Make a private channel, for those whom you invite, or a members' channel",
        _create,
        details="/create CHANNEL private members makes a members' channel that is private as well. With since-join, "
        "who joins a private channel gets nothing that was written before their invite.",
        group="private",
    ),
    Command(
        "invite",
        "/invite [PEOPLE] [TIME]",
        "A link and a QR code that let others into this channel",
        _invite,
        details="/invite 1 7d lets one person in, within seven days. Whoever has an unused link is in. A link "
        "has the key: with one that is used up one can still read, until /remove makes a new key. In a members' "
        "channel, /invite NICK lets in somebody who is here; where that is private, they have come by a link. An open "
        "channel needs no invite: whoever reaches the broker joins it. The broker of this machine is for this machine "
        "alone; for others, leave all chats here, and run sdschat broker --listen 0.0.0.0:1883, which prints the line "
        "that they type.",
        complete=people,
        group="private",
    ),
    Command(
        "remove",
        "/remove NICK [yes]",
        "Remove a member, and change the key",
        _remove,
        details="It asks first; yes does it. The creator may, and admins. It also takes who came by a link that lets "
        "nobody in any more, and reads along. Who is removed reads nothing afterwards, and "
        "keeps what they have.",
        complete=people,
        group="private",
    ),
    Command(
        "ban",
        "/ban NICK [yes]",
        "Remove a member for good: only your own invite brings them back",
        _ban,
        details="It asks first; yes does it. Only the creator of the channel bans. It is a key that is banned: whoever "
        "has an unused link can come back with another one, so links that were given away are of no use after it.",
        complete=people,
        group="private",
    ),
    Command(
        "admin",
        "/admin NICK [off]",
        "Let a member remove others, or no longer",
        _admin,
        details="Only the creator of the channel appoints admins.",
        complete=people,
        group="private",
    ),
)
