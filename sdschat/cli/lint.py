"""`sdschat tap --lint`: report the rules that the packets of a live broker break, by sender."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence

import click

from sdschat.cli.by_sender import Lint
from sdschat.cli.errors import DONE, NOT_AUTHORISED, UNREACHABLE, CommandProblem, say
from sdschat.cli.options import Chosen
from sdschat.cli.output import safe
from sdschat.cli.session import mqtt_options
from sdschat.cli.signals import stopped_by
from sdschat.transport import base
from sdschat.transport.base import Topics, Why, place
from sdschat.transport.client import MqttTransport


def lint(chosen: Chosen, channels: Sequence[str], seconds: float | None) -> int:
    """Listen for `seconds`, or until interrupted, without taking part in the channels. Return the exit code."""
    return asyncio.run(_Listening(chosen, channels).run(seconds))


class _Listening:
    def __init__(self, chosen: Chosen, channels: Sequence[str]) -> None:
        self._lint = Lint()
        self._prefix = chosen.settings.topic_prefix
        topics = [Topics(name, self._prefix) for name in channels]
        self._messages = [each.msg for each in topics]
        options, _ = mqtt_options(chosen)
        self._transport = MqttTransport(options)
        self._transport.listen(self._hear)
        for each in topics:
            self._transport.subscribe(each.msg)
            self._transport.subscribe(each.timber_all)
        self._ever = False

    async def run(self, seconds: float | None) -> int:
        self._ended = stopped_by(dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), DONE))
        self._transport.start()
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended, seconds)
        finally:
            await self._transport.close()
        totals = self._lint.totals()
        if not totals:
            say(f"no packet was heard on {', '.join(map(safe, self._messages))}: is somebody there, by these names?")
        for line in totals:
            click.echo(line)
        return self._lint.exit_code

    def _hear(self, event: base.Event) -> None:
        match event:
            case base.Received(topic, payload):
                found = place(topic, self._prefix)
                if found is None or (topic not in self._messages and not payload):
                    return  # an announcement is cleared with nothing
                line = self._lint.add_packet(found.channel, payload)
                if line is not None:
                    click.echo(line)
            case base.Connected(address):
                self._ever = True
                say(f"listening to {safe(address)}")
            case base.Disconnected(why, detail):
                self._lost(why, detail)
            case base.SubscribeRefused(_, detail):
                say(safe(detail))
            case base.HandlerFailed(error, _) | base.Crashed(error):  # such as: nobody reads our output any more
                self._fail(error)
            case _:
                pass

    def _lost(self, why: Why, detail: str) -> None:
        if why is Why.CLOSED:
            return
        if self._ever or self._ended.done():
            say(f"not listening: {safe(detail)}")
            return
        code = NOT_AUTHORISED if why is Why.NOT_AUTHORISED else UNREACHABLE
        self._fail(CommandProblem(f"{self._transport.describe()}: {detail}", code))

    def _fail(self, error: Exception) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)
