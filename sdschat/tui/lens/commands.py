"""Slash commands of the Lens: one for each view, and those that inject faults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sdschat.tui.commands.reading import info
from sdschat.tui.commands.talk import people
from sdschat.tui.host import Command, Host
from sdschat.tui.lens.view_input import VIEW_NAMES, names_message

_FAULTS: Final = (
    "loss",
    "duplicate",
    "reorder",
    "corrupt",
    "delay",
    "partition",
    "rejoin",
    "offline",
    "online",
    "skew",
    "off",
)
_WAYS: Final = ("in", "out")


def _lens(host: Host, argument: str) -> None:
    view, _, rest = argument.partition(" ")
    if not view:
        host.lens.toggle()
    else:
        _show(host, view.lower(), rest.strip())


def _show(host: Host, view: str, argument: str) -> None:
    if names_message(view, argument):
        argument = host.find_message(argument)
    host.lens.open(view, argument)


def _why(host: Host, argument: str) -> None:
    if host.conversation.peer:  # the Lens shows the channel, where messages to one alone are not
        info(host, argument)
    else:
        host.lens.open("why", host.message_in_question(argument))


def _fault(host: Host, argument: str) -> None:
    from sdschat.tui.lens.faulting import inject

    if not argument:
        host.lens.open("faults")
        return
    host.warn(inject(host.view, host.channel, argument))


def _lens_words(host: Host, argument: str) -> Iterable[str]:
    return VIEW_NAMES if " " not in argument else ()


def _fault_words(host: Host, argument: str) -> Iterable[str]:
    words = argument.split(" ")
    if len(words) == 1:
        return _FAULTS
    if words[0] in ("partition", "rejoin") and len(words) == 2:
        return people(host, words[1])
    return _WAYS if len(words) == 3 else ()


def _view(name: str, usage: str, summary: str, details: str = "", aliases: tuple[str, ...] = ()) -> Command:
    return Command(
        name, usage, summary, lambda host, argument: _show(host, name, argument), aliases, details, group="lens"
    )


COMMANDS: Final[tuple[Command, ...]] = (
    Command(
        "lens",
        "/lens [VIEW] [WORDS]",
        "Look at what the protocol does (F2)",
        _lens,
        (),
        f"Views: {', '.join(VIEW_NAMES)}.\nWithout a view it opens and closes. Left and right change the view when the "
        "panel has the focus.",
        _lens_words,
        "lens",
    ),
    Command(
        "why",
        "/why [ID]",
        "Every step of a message's acknowledgement, with its cause",
        _why,
        (),
        "Of the selected message, or of the one whose id begins so. Says who acknowledged it, in which packet and on "
        "what evidence; when it is sent again; or why nothing moves.\nOf a message to one alone it is /info.",
        group="lens",
    ),
    _view("repair", "/repair", "What is missing here and elsewhere, and when it is asked for and answered"),
    _view(
        "packet",
        "/packet [ID|N]",
        "A packet taken apart",
        "Of the selected message. /packet 12 takes apart one of the last packets, which /packet lists while no "
        "message is selected.",
    ),
    _view("graph", "/graph", "Who wrote knowing of what", aliases=("dag",)),
    _view("matrix", "/matrix", "Who is known to hold which message"),
    _view("filter", "/filter", "How full the filters are, and how often one is wrong", aliases=("bloom",)),
    _view("peers", "/peers", "Clocks, timers and make of the participants"),
    _view("tree", "/tree", "Operations of a members' channel, branches and order"),
    _view("clock", "/clock", "Who is known to have which operations, in a members' channel"),
    _view("checkpoint", "/checkpoint", "What is settled, and who is waited for, in a members' channel"),
    _view("committee", "/committee", "Members, silence and ballots of a members' channel"),
    _view("events", "/events [WORDS]", "Everything that happened; words narrow it down"),
    Command(
        "fault",
        "/fault [WHAT]",
        "Lose, delay, double, reorder or spoil packets on purpose",
        _fault,
        ("faults",),
        "/fault loss 30% in       lose packets: in, out, or both ways\n"
        "/fault duplicate 10%     let some through twice\n"
        "/fault reorder 20%       hold some back, to be overtaken\n"
        "/fault corrupt 5%        flip a bit in some: they are refused, or taken for what they say\n"
        "/fault delay 500ms out   from half to one and a half of it\n"
        "/fault partition bob     hear nothing that bob wrote; /fault rejoin bob ends it\n"
        "/fault offline           no connection; /fault online ends it\n"
        "/fault skew +90s         set this node's clock wrong\n"
        "/fault off               end all of it\n"
        "Faults are of this channel (the clock: of all), never saved, and shown in a banner.",
        _fault_words,
        "lens",
    ),
)
