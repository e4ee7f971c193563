"""`sdschat pipe`: a node for programs. Input lines are messages; events are printed as JSON lines."""

from __future__ import annotations

import asyncio
import json
import re
import sys

import click

from sdschat.cli.errors import DONE, UNEXPECTED, WRONG_USE, CommandProblem, channel_name, say, time_option
from sdschat.cli.json_events import INPUT_REFUSED, InputLine, json_line, named_line, read_line
from sdschat.cli.options import Chosen, channel_options, data_set_option
from sdschat.cli.session import first_connection, refuse_namesakes, run_node
from sdschat.cli.stdio import LineWriter
from sdschat.node.channel.strangers import strangers_of
from sdschat.node.channel.strangers_share import named_strangers
from sdschat.node.events import (
    ConnectionChanged,
    DeliveryChanged,
    HandedOver,
    NodeEvent,
    NotPublished,
    PostDeleted,
)
from sdschat.node.node import Node
from sdschat.node.pauses import OUTPUT
from sdschat.node.stdin import has_input, lines
from sdschat.node.sync.extension import sync_extension
from sdschat.sds.events import StateChanged
from sdschat.sds.steps.send import TooManyUnacknowledged
from sdschat.sds.values import AckState
from sdschat.transport.tasks import first

# Messages that the broker does not have yet: reading pauses at the first number until only the second is left, so that
# many are read at once and saved together. Without a broker reading does not pause: messages are saved.
_UNDER_WAY = 600
_ENOUGH = 300
_LINGER = "5s"
_ID = re.compile("[0-9a-f]{64}")
_SHOWN = 40  # letters of what is no id


@click.command("pipe")
@click.argument("channel")
@click.option(
    "--linger",
    metavar="TIME",
    help="After the input ends, wait so long for acknowledgements. Default: 5s. If it had no line, listen so long.",
)
@click.option(
    "--json-input",
    is_flag=True,
    help="Each input line is a JSON object: say, to, edit, delete, invite, leave, show or open.",
)
@data_set_option
@channel_options
def command(chosen: Chosen, channel: str, linger: str | None, json_input: bool, dataset: str | None) -> int:
    """Send each input line as a message, and print each event as a JSON line.

    \b
    Examples:
      sdschat pipe lobby --name ann
      echo hello | sdschat pipe lobby --name bob | jq .event
      sdschat pipe lobby --name bot --linger forever </dev/null
      echo '{"say": "hello"}' | sdschat pipe lobby --name bob --json-input

    The command ends when the input has ended and every message of it is acknowledged, or --linger is over; with
    --linger forever it stays, and with --linger 1m and no input it listens for a minute. `sdschat help json` describes
    the events and their fields.
    """
    name = channel_name(channel)
    if sys.stdin is None or sys.stdout is None:
        raise CommandProblem("pipe needs standard input and output, and one of them is closed.", WRONG_USE)
    asked = _LINGER if linger is None else linger
    patience = None if asked == "forever" else time_option("--linger", asked, ", or forever.") / 1000
    embedded = chosen.text("broker") is None
    refuse_namesakes(chosen, name)
    return run_node(
        chosen,
        lambda node: _Pipe(node, name, patience, embedded, json_input, listens=linger is not None).run(),
        [name],
        data_set=dataset,
    )


_NOT_READ = "No line of the input was read, and none is kept: start again with all of them."


class _Pipe:
    def __init__(
        self, node: Node, channel: str, patience: float | None, embedded: bool, json_input: bool, *, listens: bool
    ) -> None:
        self.node = node
        self.channel = node.named(channel)
        self.patience = patience
        self.embedded = embedded
        self.open: set[str] = set()  # own messages of this run that are not acknowledged
        self.under_way: set[str] = set()  # own messages of this run that the broker does not have
        self.refused = 0
        self.json_input = json_input
        self._listens = listens  # where the input has no line
        self._line = 0  # number of the input line
        self._unsent = 0  # lines that were read, and are not messages yet
        self._connected = False
        self._waits = False  # reading pauses until others acknowledge something
        self.gone = asyncio.Event()
        self._moved = asyncio.Event()
        self._writer = LineWriter(sys.stdout.fileno(), self.gone.set, self._hold)

    async def run(self) -> int:
        self.node.listen(self._hear)
        try:
            await first_connection(self.node, self.channel, embedded=self.embedded)
        except CommandProblem as problem:
            raise CommandProblem(f"{problem} {_NOT_READ}", problem.exit_code) from problem
        try:
            await first(self._talk(), self.gone.wait())
        finally:
            self._writer.finish()
        if self._writer.failure is not None:
            raise self._writer.failure
        if self.gone.is_set() and (self._unsent or await has_input(sys.stdin.fileno())):
            raise CommandProblem(
                f"The reader of the output is gone, so the input was not read to its end: {self._line} lines of it "
                "were taken. Send the others again.",
                UNEXPECTED,
            )
        return WRONG_USE if self.refused else DONE

    def _hold(self, full: bool) -> None:
        """Pause, or resume, receiving from the network: the reader of our output is behind."""
        (self.node.pauses.begin if full else self.node.pauses.end)(OUTPUT)

    def _hear(self, event: NodeEvent) -> None:
        self._writer.write(json_line(event))
        body = event.body
        if isinstance(body, StateChanged):
            if body.state is AckState.ACKED:
                self.open.discard(body.message_id)
        elif isinstance(body, DeliveryChanged):
            if body.was in self.open:
                self.open -= {body.was}
                self.open.add(body.message_id)
            if body.state == "settled":
                self.open.discard(body.message_id)
        elif isinstance(body, PostDeleted):
            if body.waited:
                self.open.discard(body.message_id)
        elif isinstance(body, HandedOver | NotPublished):
            self.under_way.discard(body.message_id)
        elif isinstance(body, ConnectionChanged):
            self._connected = body.state == "connected"
        else:
            return
        self._moved.set()

    async def _talk(self) -> None:
        async for found in lines(sys.stdin.fileno()):
            self._unsent = len(found)
            for line in found:
                while not self._send(line):
                    await self._move()
                self._line += 1
                self._unsent -= 1
                if len(self.under_way) >= _UNDER_WAY:
                    await self._go_easy()
        try:
            async with asyncio.timeout(self.patience):
                while self.open or self.patience is None or (self._listens and not self._line):
                    await self._move()
        except TimeoutError:
            return

    async def _go_easy(self) -> None:
        while self._connected and len(self.under_way) > _ENOUGH:
            await self._move()
        if not self._connected:
            self.under_way.clear()
            await asyncio.sleep(0)  # save and print these before reading more

    async def _move(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    def _send(self, line: bytes) -> bool:
        """Send a line. Return False if it must wait, because too many messages are unacknowledged."""
        try:
            line = line.removesuffix(b"\r")
            if self.json_input:
                self._obey(read_line(line))
            elif line:
                self._say(line.decode())
        except UnicodeDecodeError:
            self._refuse("it is not UTF-8")
        except TooManyUnacknowledged as error:
            if not self._waits:
                say(f"{self.channel}: reading the input waits: {error}")
            self._waits = True
            return False
        except ValueError as error:
            self._refuse(str(error))
        self._waits = False
        return True

    def _say(self, text: str, reply_to: str = "") -> None:
        message_id = self.node.say(self.channel, text, reply_to=reply_to)
        self._follow(message_id)

    def _follow(self, message_id: str) -> None:
        self.open.add(message_id)
        if self.node.sessions[self.channel].members is None:
            self.under_way.add(message_id)

    def _obey(self, line: InputLine) -> None:
        """Do what a line asks for. Raises ValueError for what cannot be done here."""
        members = self.node.sessions[self.channel].members
        if line.verb == "say":
            self._require_id(line.target)
            self._say(line.text, line.target)
        elif line.verb == "to":
            self.open.add(sync_extension(self.node, self.channel).direct.send(line.target, line.text))
        elif line.verb == "show":
            part = sync_extension(self.node, self.channel)
            if not part.catchup.show(part.direct.people.find(line.target).sender_id):
                raise ValueError("nothing that this one said is kept as an id alone")
        elif line.verb == "open":
            waiting = strangers_of(self.node.sessions[self.channel])
            self.node.open_strangers(one.sender_id for one in named_strangers(waiting, line.target))
        elif members is None:
            raise ValueError(
                f"{self.channel} is no members' channel: nothing can be changed or taken back, and nobody "
                "is let in or leaves"
            )
        elif line.verb == "edit":
            self._follow(members.edit(line.target, line.text))
        elif line.verb == "delete":
            self._follow(members.delete(line.target))
        elif line.verb == "invite":
            members.invite(line.target)
        else:
            members.leave()

    def _require_id(self, reply_to: str) -> None:
        """Raise ValueError for what is not the id of a message: others would look for it in vain. Foreign ids are of
        any form, so those are taken of messages that are here."""
        session = self.node.sessions[self.channel]
        if session.members is not None or not reply_to or _ID.fullmatch(reply_to):
            return  # a members' channel looks for the post itself
        if not session.channel.state.holds(reply_to):
            raise ValueError(f'"reply_to" is {json.dumps(reply_to[:_SHOWN])}, and no id of a message')

    def _refuse(self, why: str) -> None:
        self.refused += 1
        if self.json_input:
            fields = {"reason": why, "line": self._line + 1}
            now = self.node.clock.now().wall
            self._writer.write(named_line(INPUT_REFUSED, self.channel, now, fields))
            return
        say(f"{self.channel}: a line was not sent: {why}")
