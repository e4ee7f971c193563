"""`sdschat pipe`: a node for programs. Input lines are messages; events are printed as JSON lines."""

from __future__ import annotations

import asyncio
import sys

import click

from sdschat.cli.errors import DONE, WRONG_USE, CommandProblem
from sdschat.cli.json_events import json_line
from sdschat.cli.options import channel_name, channel_options, say
from sdschat.cli.session import first_connection, run_node
from sdschat.cli.setting_sources import Chosen
from sdschat.cli.stdio import LineWriter
from sdschat.node.events import ConnectionChanged, HandedOver, NodeEvent, NotPublished
from sdschat.node.node import Node
from sdschat.node.settings import duration
from sdschat.node.stdin import lines
from sdschat.sds.events import StateChanged
from sdschat.sds.rows import AckState
from sdschat.sds.steps.send import TooManyUnacknowledged
from sdschat.transport.tasks import first

# Messages that the broker does not have yet: reading pauses at the first number until only the second is left, so that
# many are read at once and saved together. Without a broker reading does not pause: messages are saved.
_UNDER_WAY = 600
_ENOUGH = 300


@click.command("pipe")
@click.argument("channel")
@click.option("--linger", default="5s", metavar="TIME", help="After the input ends, wait so long for acknowledgements.")
@channel_options
def command(chosen: Chosen, channel: str, linger: str) -> int:
    """Send each input line as a message, and print each event as a JSON line.

    \b
    Examples:
      sdschat pipe lobby --name ann
      echo hello | sdschat pipe lobby --name bob | jq .event
      sdschat pipe lobby --name bot --linger forever </dev/null

    The command ends when the input has ended and every message of it is acknowledged, or --linger is over; with
    --linger forever it stays. `sdschat help json` describes the events and their fields.
    """
    name = channel_name(channel)
    if sys.stdin is None or sys.stdout is None:
        raise CommandProblem("pipe needs standard input and output, and one of them is closed.", WRONG_USE)
    if linger == "forever":
        patience = None
    else:
        try:
            patience = duration(linger) / 1000
        except ValueError as error:
            raise CommandProblem(f"--linger is {linger!r}, and {error}, or forever.", WRONG_USE) from error
    return run_node(chosen, lambda node: _Pipe(node, name, patience, chosen.text("broker") is None).run(), [name])


class _Pipe:
    def __init__(self, node: Node, channel: str, patience: float | None, embedded: bool) -> None:
        self.node = node
        self.channel = node.named(channel)
        self.patience = patience
        self.embedded = embedded
        self.open: set[str] = set()  # own messages of this run that are not acknowledged
        self.under_way: set[str] = set()  # own messages of this run that the broker does not have
        self.refused = 0
        self._connected = False
        self._waits = False  # reading pauses until others acknowledge something
        self.gone = asyncio.Event()
        self._moved = asyncio.Event()
        self._writer = LineWriter(sys.stdout.fileno(), self.gone.set, self._hold)

    async def run(self) -> int:
        self.node.listen(self._hear)
        await first_connection(self.node, self.channel, embedded=self.embedded)
        try:
            await first(self._talk(), self.gone.wait())
        finally:
            self._writer.finish()
        if self._writer.failure is not None:
            raise self._writer.failure
        return WRONG_USE if self.refused else DONE

    def _hold(self, full: bool) -> None:
        """Pause, or resume, receiving from the network: the reader of our output is behind."""
        for session in self.node.sessions.values():
            if full:
                session.transport.pause()
            else:
                session.transport.resume()

    def _hear(self, event: NodeEvent) -> None:
        self._writer.write(json_line(event))
        body = event.body
        if isinstance(body, StateChanged):
            if body.state is AckState.ACKED:
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
            for line in found:
                while not self._send(line):
                    await self._move()
                if len(self.under_way) >= _UNDER_WAY:
                    await self._go_easy()
        try:
            async with asyncio.timeout(self.patience):
                while self.open or self.patience is None:
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
            text = line.removesuffix(b"\r").decode()
            if text:
                message_id = self.node.send(self.channel, text).message_id
                self.open.add(message_id)
                self.under_way.add(message_id)
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

    def _refuse(self, why: str) -> None:
        self.refused += 1
        say(f"{self.channel}: a line was not sent: {why}")
