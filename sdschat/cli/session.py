"""Running a node for a command: opening, connecting, signals, and a clean end in every case."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from sdschat.cli.errors import INTERRUPTED, NOT_AUTHORISED, TERMINATED, UNREACHABLE, WRONG_USE, CommandProblem, say
from sdschat.cli.logs import log_to_file
from sdschat.cli.options import IN_USE, PASSWORD_SEEN, WORKED_OUT, Chosen, FoundSettings
from sdschat.cli.output import safe
from sdschat.cli.own_key import KEY_LOST, keep_name, note_lost_key
from sdschat.identity.content import problems_with
from sdschat.identity.key_book import NickClaimed
from sdschat.node import events
from sdschat.node.event_words import claim_words, own_key_words, saving_failed_words
from sdschat.node.members.opening import members_extension
from sdschat.node.network import MqttNetwork
from sdschat.node.node import Node
from sdschat.node.private.links import broker_of
from sdschat.node.profile import DATABASE, Profile, open_profile, profile_name
from sdschat.node.store_client.events import StoreLeft
from sdschat.node.view.members import fork_words
from sdschat.store.errors import ProfileInUse, StoreError
from sdschat.store.store import Store
from sdschat.transport.address import LOCAL, Address, clear_text_problem, parse_url
from sdschat.transport.base import DEFAULT_PREFIX, Why
from sdschat.transport.credentials import find_password
from sdschat.transport.mqtt_options import MqttOptions, TlsOptions
from sdschat.transport.tasks import first, start

_TOO_FAST = (
    "you say more in a minute than others keep (trust.messages_per_minute): they have only the ids of the rest. "
    "Say less at once, or tell them to raise it"
)
Body = Callable[[Node], Awaitable[int]]
TOLD_IN_THE_CHAT = (PASSWORD_SEEN, KEY_LOST)  # warnings: what is on the screen before it opens is not seen
ATTEMPTS_EMBEDDED = 10  # connection attempts: another process may just be taking over the embedded broker
_TLS_FILES = ("ca_file", "cert_file", "key_file")
_PROFILES = 9  # profiles tried where the first one is in use
_KEEP_AFTER = 5.0  # seconds until the size of the database is looked at
_GRACE = 2.0  # seconds at the end for packets that wait to be sent


def run_node(
    chosen: Chosen,
    body: Body,
    channels: Sequence[str],
    *,
    narrate: bool = True,
    catches_up: bool = True,
    keeps: bool = True,
    takes_another: bool = False,
    data_set: str | None = None,
) -> int:
    """Run `body` with a node, until it is done, the node fails or a signal comes. Return the exit code.

    `channels`: names or links; the broker of private ones among them is used if the user names no other.
    `narrate`: tell the user about connections and troubles on standard error; not for a body that shows them itself.
    `catches_up`: fetch missing history, also of open channels. Other participants can always fetch ours.
    `keeps`: keep the database within `store.max_size`; a Store does that itself.
    `data_set`: of the first channel, which is a members' channel then.
    `takes_another`: if the profile is in use and the user did not name it, take the next one that is free.
    """
    refuse_nick(chosen)
    if narrate:
        _announce(chosen)
    log_to_file()
    return asyncio.run(_session(chosen, body, channels, narrate, catches_up, keeps, takes_another, data_set))


def refuse_nick(chosen: Chosen) -> None:
    """Raise CommandProblem for a nick that no message can have."""
    for problem in problems_with("", chosen.nick):
        raise CommandProblem(problem, WRONG_USE)


def mqtt_options(chosen: Chosen) -> tuple[MqttOptions, bool]:
    """Return the options of the connection, and True if we may have to start the embedded broker."""
    url = chosen.text("broker")
    address, secret = (replace(LOCAL, port=chosen.settings.embedded_port), None) if url is None else parse_url(url)
    ask = _ask if sys.stdin is not None and sys.stdin.isatty() else None
    password = find_password(address, secret, os.environ, file=chosen.path("password_file"), ask=ask)
    if not address.encrypted:
        _require_no_tls_files(chosen, address)
    tls = TlsOptions(*map(chosen.path, _TLS_FILES))
    clear = str(chosen.general["allow_clear_password"].value).lower() in ("true", "1", "yes")
    problem = clear_text_problem(address, password if address.user else None, clear)
    if problem is not None:
        raise CommandProblem(problem, WRONG_USE)
    options = MqttOptions(address, password if address.user else None, tls, clear, prefix=chosen.settings.topic_prefix)
    return options, url is None


def _require_no_tls_files(chosen: Chosen, address: Address) -> None:
    """Raise CommandProblem for files of TLS in the command line, where the way to the broker is without TLS: whoever
    named them takes it for encrypted. In a file of settings they may be for other brokers."""
    options = {name: f"--{name.replace('_', '-')}" for name in _TLS_FILES}
    given = [option for name, option in options.items() if chosen.general[name].origin == option]
    if given:
        secured = "wss" if address.websocket else "mqtts"
        raise CommandProblem(
            f"{given[0]} is for encrypted connections, and {address} is none. "
            f"Name the broker with --broker {secured}://HOST, or leave the file out.",
            WRONG_USE,
        )


def further_options(chosen: Chosen) -> str:
    """Return the options beside the address that others need to reach this broker, as typed. Files have their names
    alone: others have copies of them elsewhere."""
    authority, own = chosen.path("ca_file"), chosen.path("cert_file")
    prefix, port = chosen.settings.topic_prefix, chosen.settings.embedded_port
    parts = [
        f"--set embedded.port={port}" if chosen.text("broker") is None and port != LOCAL.port else "",
        f"--ca-file {shlex.quote(authority.name)}" if authority else "",
        "--cert-file FILE --key-file FILE" if own else "",
        f"--set {shlex.quote(f'mqtt.topic_prefix={prefix}')}" if prefix != DEFAULT_PREFIX else "",
    ]
    return "".join(f" {part}" for part in parts if part)


def _ask(prompt: str) -> str:
    import getpass

    return getpass.getpass(prompt)


def _announce(chosen: Chosen) -> None:
    """Say everything that makes this run behave unlike others: timing and injected faults."""
    if chosen.settings.timing != "spec":
        say(f"timing: {chosen.settings.timing}")
    if chosen.settings.faults.active:
        say(f"faults injected: {chosen.settings.faults}")


async def _session(
    chosen: Chosen,
    body: Body,
    channels: Sequence[str],
    narrate: bool,
    catches_up: bool,
    keeps: bool,
    takes_another: bool,
    data_set: str | None,
) -> int:
    found = mqtt_options(chosen) if chosen.text("broker") is not None else None
    profile = _open(chosen, takes_another)
    origin = chosen.general["profile"].origin
    try:
        if takes_another and (origin in WORKED_OUT or origin.startswith(IN_USE)):
            for channel in channels:
                if not profile.store.has_channel(channel):
                    refuse_namesakes(chosen, channel)
        if data_set is not None:
            _pin(profile.store, channels[0], data_set)
        if found is None:
            _use_broker_of(chosen, profile.store, channels)
            found = mqtt_options(chosen)
        keep_name(chosen, profile)
    except BaseException:
        profile.store.close()
        raise
    options, embedded = found
    network = MqttNetwork(options, chosen.settings, embedded=embedded)
    node = Node(profile, chosen.nick, chosen.settings, network)
    node.broker = "" if embedded else str(options.address)
    node.broker_wants_user = bool(options.address.user)
    node.broker_options = further_options(chosen)
    node.prepare(lambda: _install(node, catches_up))
    if narrate:
        if KEY_LOST in chosen.warnings:
            say(KEY_LOST)
        if profile.store.upgrade is not None:
            say(profile.store.upgrade.in_words())
        node.listen(EventPrinter(chosen.verbose, node.sender_id))
    stopped = _listen_to_signals()
    keeping = start(_keep(node), node.fail) if keeps else None
    try:
        return await first(node.failed, stopped, body(node))
    finally:
        if keeping is not None:
            keeping.cancel()
        await node.close(_GRACE)


def _open(chosen: Chosen, takes_another: bool) -> Profile:
    """Open the profile; if it is in use, and another may be taken, the first free one of name-2, name-3 and so on.

    The nick follows: two keys with one nick would be an alarm to everybody else.
    """
    profile, nick = chosen.profile, chosen.nick
    note_lost_key(chosen)
    may = takes_another and chosen.general["profile"].origin in WORKED_OUT
    for number in range(2, _PROFILES + 2):
        try:
            return open_profile(chosen.database, chosen.settings)
        except ProfileInUse:
            if not may or number > _PROFILES or any(problems_with("", f"{nick}-{number}")):
                raise
            chosen.general["profile"] = FoundSettings(f"{profile}-{number}", f"{IN_USE}{profile}")
            chosen.general["name"] = FoundSettings(f"{nick}-{number}", f"{IN_USE}{profile}")
    raise AssertionError("the loop above returns or raises")


def open_alone(chosen: Chosen) -> Profile:
    """Open the profile for a command without a node."""
    note_lost_key(chosen)
    profile = open_profile(chosen.database, chosen.settings)
    if KEY_LOST in chosen.warnings:
        say(KEY_LOST)
    keep_name(chosen, profile)
    return profile


def _pin(store: Store, channel: str, data_set: str) -> None:
    from sdschat.node.members.saved import pin

    try:
        pin(store, channel, data_set)
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error


def refuse_namesakes(chosen: Chosen, name: str) -> None:
    """Raise CommandProblem where the name of another profile's private channel would open an open one: a wrong
    profile would send in clear what is meant for few. Whoever has joined the open one means it."""
    from sdschat.node.private.record import base_name, full_name, private_channels
    from sdschat.wire.nim_codec import EitherCodec

    codec, profiles = EitherCodec(chosen.settings.config.max_message_bytes), chosen.database.parent.parent
    meant = chosen.general["profile"].origin.removeprefix(IN_USE)  # the one in whose place this was taken comes first
    paths = sorted(profiles.glob(f"*/{DATABASE}"), key=lambda path: profile_name(path) != meant)
    for path in sorted(paths, key=lambda path: path != chosen.database):
        try:
            with contextlib.closing(Store.open_read_only(path, codec)) as reader:
                mine = path == chosen.database
                if mine and (full_name(reader, name) != name or reader.has_channel(name)):
                    return
                private = [] if mine else [full for full in private_channels(reader) if base_name(full) == name]
        except (StoreError, ValueError, OSError):
            continue
        if private:
            other = profile_name(path)
            raise CommandProblem(
                f"{private[0]} is a private channel of your profile {other}, and {chosen.profile} is not in it. An "
                f"open channel {name} can be read by everybody. Choose --profile {other}; or, if you mean the open "
                f"one, join it once: sdschat join {name} --profile {chosen.profile}.",
                WRONG_USE,
            )


def _use_broker_of(chosen: Chosen, store: Store, channels: Sequence[str]) -> None:
    """Use the broker of the private channels among these, as of the last time, or as their links named it."""
    brokers = {broker for channel in channels if (broker := broker_of(store, channel))}
    if len(brokers) > 1:
        raise CommandProblem(
            f"These channels are on different brokers: {', '.join(sorted(brokers))}. Join them one by one.", WRONG_USE
        )
    for broker in brokers:
        chosen.general["broker"] = FoundSettings(broker, "the channel")


async def _keep(node: Node) -> None:
    """Keep the database within its size. The import is slow, and the first frame is shown before it."""
    await asyncio.sleep(_KEEP_AFTER)
    from sdschat.node.retention import keep_within_limits

    await keep_within_limits(node, node.profile.store, node.settings.max_size).keep()


def _install(node: Node, catches_up: bool) -> None:
    """Add the extensions of every channel. Their import is slow, so it happens with the first channel."""
    from sdschat.node.members import opening
    from sdschat.node.store_client import client
    from sdschat.node.sync import extension

    opening.install(node)
    client.install(node)
    extension.install(node, asks=catches_up)


def _listen_to_signals() -> asyncio.Future[int]:
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(code: int) -> None:
        if stopped.done():  # a second signal ends at once: all that was reported as saved is on disk
            os._exit(code)
        stopped.set_result(code)

    loop.add_signal_handler(signal.SIGINT, stop, INTERRUPTED)
    loop.add_signal_handler(signal.SIGTERM, stop, TERMINATED)
    loop.add_signal_handler(signal.SIGHUP, stop, TERMINATED)
    return stopped


async def first_connection(node: Node, channel: str, *, embedded: bool) -> None:
    """Join, and return when the channel is connected and its kind is known. Raises CommandProblem if the first attempts
    fail."""
    connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    failures = 0

    def hear(event: events.NodeEvent) -> None:
        nonlocal failures
        if not isinstance(event.body, events.ConnectionChanged) or event.channel != channel or connected.done():
            return
        if event.body.state == "connected":
            connected.set_result(None)
        elif event.body.state == "disconnected":
            failures += 1
            refused = event.body.why == Why.NOT_AUTHORISED
            if refused or not embedded or failures >= ATTEMPTS_EMBEDDED:
                code = NOT_AUTHORISED if refused else UNREACHABLE
                connected.set_exception(CommandProblem(f"{event.body.address}: {event.body.detail}", code))

    node.listen(hear)
    if node.join(channel).dialect == "nim":
        from sdschat.wire.nim_codec import CANNOT

        say(f"{channel}: the bytes of nim-sds (sds.wire=nim). Limits: {'; '.join(CANNOT)}")
    await connected
    members = members_extension(node, channel)
    if members is not None:
        await members.decided.wait()


class EventPrinter:
    """Tells the user on standard error about connections, troubles and claimed names."""

    def __init__(self, verbose: int, me: str) -> None:
        self._verbose, self._me = verbose, me
        self._said = ""

    def __call__(self, event: events.NodeEvent) -> None:
        text = self._text(event.body)
        if text and (text != self._said or self._verbose):
            self._said = text
            say(f"{event.channel}: {text}" if event.channel else text)

    def _text(self, body: events.EventBody) -> str:
        match body:
            case events.ConnectionChanged(state="disconnected", why=why, detail=detail, ever=ever):
                return f"not connected: {detail}" if (ever or self._verbose) and why != Why.CLOSED else ""
            case events.ConnectionChanged(state="connected", address=address, ever=ever):
                return f"connected to {address}" if ever or self._verbose else ""
            case events.HostingChanged(hosting):
                return f"the embedded broker is {'now hosted' if hosting else 'not hosted any more'} by this process"
            case events.DataSetFound(data_set):
                return (
                    f"a members' channel, with the data set {data_set}. You knock: a member has to invite you. "
                    "What you write until then waits"
                )
            case events.MemberStatusChanged(self._me, _, "evicted"):
                return (
                    "you were put out, since you were silent or removed. You knock: a member has to let you in again. "
                    "What you write until then waits"
                )
            case events.MemberStatusChanged(self._me, _, "left"):
                return "you have left: what you write is neither kept nor sent. A member can let you in again"
            case events.Knocked(sender_id, nick):
                return f"{safe(nick)} ({sender_id[:8]}) knocks, to be invited"
            case events.KindRefused(data_set, detail):
                return f"{detail} (data set {data_set[:16]})"
            case events.ForkFound(sender_id, seq):
                return fork_words(sender_id[:8], seq, own=sender_id == self._me)
            case events.NotPublished(failure=failure, detail=detail):
                return f"a packet was not sent ({failure}): {detail}"
            case events.SaidTwoThings(sender_id, number, message_id):
                which = f"message {number} of theirs is there twice ({message_id})"
                return f"{sender_id} says two things: {which if self._verbose else 'two messages have one number'}"
            case events.OwnOverLimit():
                return _TOO_FAST
            case events.NotAMember(why):
                return why
            case events.SavingFailed(detail):
                return saving_failed_words(detail)
            case events.SavingResumed():
                return "saving works again"
            case events.SendingResumed():
                return "the broker takes our packets again"
            case events.TroubleMet(detail):
                return f"trouble: {detail}"
            case StoreLeft(store_id, nick, detail):
                return f"the Store {safe(nick)} ({store_id[:8]}) is not asked any more: {detail}"
            case NickClaimed(sender_id, nick, held_as, held_by, verified):
                return claim_words(safe(nick), sender_id, safe(held_as), held_by, verified=verified)
        return own_key_words(body)
