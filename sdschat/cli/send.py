"""`sdschat send`: send one message, or standard input."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import click

from sdschat.catchup.values import CatchUpState
from sdschat.cli.errors import (
    DONE,
    NOT_AUTHORISED,
    NOT_IN_TIME,
    UNEXPECTED,
    UNREACHABLE,
    WRONG_USE,
    CommandProblem,
    channel_name,
    given_name,
    say,
    standard_input,
    time_option,
)
from sdschat.cli.options import Chosen, channel_options, data_set_option
from sdschat.cli.output import listed, safe
from sdschat.cli.session import first_connection, refuse_namesakes, run_node
from sdschat.cli.stdio import bursts
from sdschat.identity.handwritten import nearest
from sdschat.identity.signing import by_name
from sdschat.node.events import (
    CatchingUp,
    DeliveryChanged,
    EventBody,
    HandedOver,
    MessageDelivered,
    NodeEvent,
    NotAMember,
    NotPublished,
    PostSaid,
    PresenceChanged,
    SavingFailed,
    SavingResumed,
)
from sdschat.node.private.operations import not_answered
from sdschat.node.private.record import base_name, is_link
from sdschat.node.view.private import join_command
from sdschat.sds.events import StateChanged, SyncReceived
from sdschat.sds.values import AckState

if TYPE_CHECKING:
    from sdschat.node.node import Node
    from sdschat.node.sync.direct import DirectMessaging

_WANTED: Final = {"possibly-acked": AckState.POSSIBLY_ACKED, "acked": AckState.ACKED}
# Words of members' channels that will do, by what is waited for.
_MEMBERS: Final = {
    "sent": ("sent", "written", "known", "settled"),
    "possibly-acked": ("known", "settled"),
    "acked": ("settled",),
}
_PART: Final = 40_000  # bytes of one message, so that it fits into a packet beside the largest filter
_LOOKS: Final = 20  # searches for the reader of a direct message,
_LOOK: Final = 0.1  # with so many seconds between two
_SETTLED: Final = 1.0  # seconds without a change of presence, after which all present participants are known
_LONGEST_NEWS: Final = 10.0
_NOT_KEPT: Final = "The text was not kept: send it again."
_FORBIDDEN: Final = "Not authorized"  # the name of MQTT's reason code 0x87
_PRESENCES: Final = 1.5  # seconds until we know who is here
_OTHERS_ANSWER: Final = 10.0
_PAUSE: Final = 1.0  # seconds without input that end a message


class _Unsaved(CommandProblem):
    """Nothing can be saved, so nothing is sent. The end of the node is one more try."""


@dataclass(frozen=True, slots=True)
class _Order:
    channel: str
    text: str  # "-": standard input
    wait: str
    patience: float
    ephemeral: bool
    to: str  # empty: to the channel
    embedded: bool
    profile: str


@click.command("send")
@click.argument("channel")
@click.argument("text")
@click.option("--wait", type=click.Choice(["sent", *_WANTED]), default="sent", help="The state to wait for.")
@click.option("--timeout", default="30s", metavar="TIME", help="Longest time to wait. Default: 30s.")
@click.option(
    "--to",
    metavar="NICK",
    callback=given_name,
    help="To one participant alone, by nick or id; nobody else can read it.",
)
@click.option("--ephemeral", is_flag=True, help="A message that nobody keeps.")
@data_set_option
@channel_options
def command(
    chosen: Chosen, channel: str, text: str, wait: str, timeout: str, ephemeral: bool, to: str, dataset: str | None
) -> int:
    """Send one message, and print its id.

    \b
    Examples:
      sdschat send lobby "the build is green" --name ci
      git log -1 | sdschat send lobby - --name ci
      tail -f errors.log | sdschat send lobby - --name ci
      sdschat send lobby "are you there?" --wait acked --timeout 1m
      sdschat send lobby "between you and me" --to bob --name ann

    Where CHANNEL is new to this profile and nobody is heard in it, a line on standard error says so.

    With - for TEXT, standard input is sent as it comes: lines that come together are one message, and a text too long
    for one message becomes several. Exit code 6: the wanted state was not reached in time. The message is saved, and
    sent again by the next command that joins the channel with this profile; so is a message to a participant (--to)
    who is away now.
    """
    name = channel_name(channel)
    patience = time_option("--timeout", timeout) / 1000
    if to and (ephemeral or wait == "possibly-acked"):
        what = "--ephemeral" if ephemeral else "--wait possibly-acked"
        raise CommandProblem(f"With --to, a message is kept, and acknowledged or not. Leave out {what}.", WRONG_USE)
    if ephemeral and wait != "sent":
        raise CommandProblem("Nobody acknowledges an ephemeral message. Leave out --wait.", WRONG_USE)
    if not text:
        raise CommandProblem("A message needs some text.", WRONG_USE)
    if text == "-":
        standard_input()  # raises CommandProblem if it is closed, before anything is started
    refuse_namesakes(chosen, name)
    order = _Order(name, text, wait, patience, ephemeral, to, chosen.text("broker") is None, chosen.profile)
    begun: list[_Sending] = []

    async def send(node: Node) -> int:
        begun.append(_Sending(node, order))
        return await begun[0].run()

    try:
        return run_node(chosen, send, [name], catches_up=False, data_set=dataset)
    except _Unsaved as problem:
        return begun[0].after_the_end(problem)


class _Sending:
    def __init__(self, node: Node, order: _Order) -> None:
        self._node = node
        self._order = replace(order, channel=node.named(order.channel))
        self._open: set[str] = set()  # ids of messages that have not reached the wanted state
        self._unsaid: set[str] = set()  # ids of messages that are not known to be saved, and not printed
        self._unprinted: OSError | None = None  # why an id was not printed
        self._sent = 0
        self._unproven: set[str] = set()  # sender ids of who says without a signature that they have a message
        self._by: set[str] = set()  # sender ids of who acknowledged
        self._moved = asyncio.Event()
        self._refused = ""
        self._unsaved = ""  # why nothing can be saved
        self._joins = is_link(order.channel)
        self._known = node.profile.store.channels()  # before this channel is joined
        self._caught_up = asyncio.Event()
        self._no_member = ""  # why others do not show what we write
        self._heard = False  # somebody who tells no presence
        self._news_at = 0.0  # monotonic time of the last change of presence, in seconds

    async def run(self) -> int:
        order = self._order
        self._node.listen(self._hear)
        await self._connect()
        if order.to:
            await self._find(order.to)
        elif not (self._joins or order.channel in self._known or self._is_private()):
            await self._doubt()
        async for text in self._texts():
            self._send(text)
        if not self._sent:
            raise CommandProblem("A message needs some text, and standard input had none.", WRONG_USE)
        try:
            async with asyncio.timeout(order.patience):
                while self._open:
                    if self._unsaved:  # what is not saved is not sent
                        raise _Unsaved(f"The message was not sent: {self._unsaved}.")
                    self._moved.clear()
                    await self._moved.wait()
                    if self._refused:
                        raise self._not_sent()
        except TimeoutError as error:
            raise CommandProblem(self._late(), NOT_IN_TIME) from error
        await self._require_voice()
        if self._unprinted is not None:
            raise self._unprinted
        if self._by and sys.stderr.isatty():
            say(self._witnesses())
        return DONE

    def after_the_end(self, problem: _Unsaved) -> int:
        """Return the exit code after the node has ended, which saves and sends what it then can. Raises CommandProblem
        with what became of the text."""
        if not self._open:
            return DONE
        fate = _NOT_KEPT
        if len(self._unsaid) < self._sent:  # the ids of the others are printed
            fate = self._kept() if not self._unsaid else f"{len(self._unsaid)} of {self._sent} texts were not kept."
        raise CommandProblem(f"{problem} {fate}", problem.exit_code) from problem

    def _witnesses(self) -> str:
        """Return who acknowledged, and of whom nobody signed it: their word counts where `trust.unsigned` says so."""
        session, gate = self._node.sessions[self._order.channel], self._node.gate
        names = []
        for one in self._by:
            name = session.presence.nick_of(one) or gate.nick_of(one) or f"<{one[:8]}>"
            names.append(f"{name} (unsigned, so unproven)" if session.proofs.takes_the_word_of(one) else name)
        return f"{self._order.wait.replace('-', ' ')} by {listed(sorted(names, key=by_name))}"

    async def _require_voice(self) -> None:
        """Raise CommandProblem if others do not show what we write. Only they know who is a member of a private
        channel: wait for them, where we join by a link or wait for them anyway."""
        session = self._node.sessions[self._order.channel]
        if session.private is None or not (self._joins or self._order.wait in _WANTED):
            return
        for seconds in (_PRESENCES, _OTHERS_ANSWER):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._caught_up.wait(), seconds)
                break
            if not session.presence.online:
                break
        refused = self._no_member not in ("", not_answered(self._order.channel))
        if not (self._caught_up.is_set() or refused):
            if self._joins:
                say("no member answered yet: whether the invite is still of use shows once one does")
        elif not session.private.is_member:
            why = self._no_member or f"you are no member of {self._order.channel}"
            raise CommandProblem(f"Others do not show this message: {why}.", WRONG_USE)

    async def _connect(self) -> None:
        order = self._order
        try:
            async with asyncio.timeout(order.patience):
                await first_connection(self._node, order.channel, embedded=order.embedded)
        except TimeoutError as error:
            text = f"No connection to the broker came about in time. {_NOT_KEPT}"
            raise CommandProblem(text, UNREACHABLE) from error
        except CommandProblem as problem:
            raise CommandProblem(f"{problem} {_NOT_KEPT}", problem.exit_code) from problem

    def _is_private(self) -> bool:
        """True for a private channel: the profile has its key, so that its name is not mistyped."""
        return self._node.sessions[self._order.channel].private is not None

    async def _doubt(self) -> None:
        """Say that nobody is heard in this channel, which is new to this profile: its name may be mistyped."""
        channel, node = self._order.channel, self._node
        ends = time.monotonic() + _PRESENCES
        while time.monotonic() < ends:
            if self._heard or node.sessions[channel].presence.online.keys() - {node.sender_id}:
                return
            await asyncio.sleep(_LOOK)
        near = nearest(channel, [base_name(name) or name for name in self._known])
        meant = f"Did you mean {near}?" if near else f"Others join it with: {join_command(node, channel)}"
        say(f"nobody is in {safe(channel)} now, and {self._order.profile} was never in it. {meant}")

    async def _texts(self) -> AsyncIterator[str]:
        if self._order.text != "-":
            yield self._order.text
            return
        async for burst in bursts(sys.stdin.fileno(), _PART, _PAUSE):
            try:
                text = burst.decode().removesuffix("\n")
            except UnicodeDecodeError as error:
                raise CommandProblem("Standard input is not UTF-8 text. Convert it first.", WRONG_USE) from error
            if text.strip("\n"):
                yield text

    async def _find(self, name: str) -> None:
        """Find the reader after all present participants are known, so that a second one of that nick is noticed."""
        people = self._direct().people
        await self._everybody()
        for left in range(_LOOKS, -1, -1):
            try:
                person = people.find(name)
                outsider = self._node.sessions[self._order.channel].is_outsider(person.sender_id)
                if not outsider and not people.here(person.sender_id):
                    say(f"{safe(person.nick or name)} ({person.sender_id}) is not here now; the message waits")
                return
            except ValueError as error:
                if not left:
                    raise CommandProblem(str(error), WRONG_USE) from error
            await asyncio.sleep(_LOOK)

    async def _everybody(self) -> None:
        ends = time.monotonic() + _LONGEST_NEWS
        self._news_at = time.monotonic()
        while time.monotonic() < min(ends, self._news_at + _SETTLED):
            await asyncio.sleep(_LOOK)

    def _direct(self) -> DirectMessaging:
        from sdschat.node.sync.extension import sync_extension

        return sync_extension(self._node, self._order.channel).direct

    def _put(self, text: str) -> str:
        order = self._order
        if order.to:
            return self._direct().send(order.to, text)
        return self._node.say(order.channel, text, ephemeral=order.ephemeral)

    def _send(self, text: str) -> None:
        try:
            message_id = self._put(text)
        except ValueError as error:
            raise CommandProblem(str(error), WRONG_USE) from error
        self._sent += 1
        self._open.add(message_id)
        self._unsaid.add(message_id)

    def _print(self, body: EventBody) -> None:
        """Print the id of a message of ours that an event names: events come after what they tell is saved, and an id
        that was printed is promised."""
        if isinstance(body, MessageDelivered):
            message_id = body.said.message.message_id
        else:
            message_id = getattr(body.post if isinstance(body, PostSaid) else body, "message_id", "")
        if message_id in self._unsaid:
            self._unsaid.remove(message_id)
            try:
                print(message_id, flush=True)
            except OSError as error:  # the message is said all the same
                self._unprinted = error

    def _hear(self, event: NodeEvent) -> None:
        body = event.body
        self._print(body)
        if isinstance(body, SavingFailed):
            self._unsaved = body.detail.partition(";")[0]  # what follows is for a program that goes on
            self._moved.set()
        elif isinstance(body, SavingResumed):
            self._unsaved = ""
        elif isinstance(body, NotAMember):
            self._no_member = body.why
        elif isinstance(body, CatchingUp) and body.state == CatchUpState.DONE:
            self._caught_up.set()
        elif isinstance(body, SyncReceived) or (isinstance(body, MessageDelivered) and not body.said.own):
            self._heard = True
        elif isinstance(body, PresenceChanged):
            self._news_at = time.monotonic()
        if isinstance(body, NotPublished) and body.message_id in self._open:
            if body.failure in ("too_large", "refused"):
                self._refused = body.detail
        elif isinstance(body, DeliveryChanged) and body.state in _MEMBERS[self._order.wait]:
            self._open -= {body.message_id, body.was}
        elif isinstance(body, HandedOver | StateChanged) and self._reached(body):
            self._open.discard(body.message_id)
        else:
            return
        self._moved.set()

    def _reached(self, body: HandedOver | StateChanged) -> bool:
        wanted = _WANTED.get(self._order.wait)
        if isinstance(body, HandedOver):
            return wanted is None
        if wanted is None:
            return False
        if body.message_id in self._open:
            self._unproven.update(body.unproven)
            self._by.update(body.by if wanted is AckState.ACKED else (*body.by, *body.perhaps))
        return body.state >= wanted

    def _not_sent(self) -> CommandProblem:
        code = NOT_AUTHORISED if _FORBIDDEN in self._refused else UNEXPECTED
        return CommandProblem(f"The message was not sent: {self._refused} {self._kept()}", code)

    def _kept(self) -> str:
        order = self._order
        if order.ephemeral:
            return "Nobody keeps it: it is gone."
        return f"It is saved, and sent again with the next command that joins {order.channel} as {order.profile}."

    def _late(self) -> str:
        which = "The message was" if self._sent == 1 else f"{len(self._open)} of {self._sent} messages were"
        state, ephemeral = self._order.wait.replace("-", " "), self._order.ephemeral
        kept = "An ephemeral message is not kept." if ephemeral else "Saved, and sent again with the next join."
        if self._order.to:
            kept = f"Saved, and sent once {self._order.to} is here with the key that it is sealed for."
        said = f" {len(self._unproven)} say so without a signature, which proves nothing." if self._unproven else ""
        return f"{which} not {state} within {self._order.patience:g} s.{said} {kept}"
