"""The web server: a page with a terminal, and behind each open page a chat of its own, in the profile folder of a
visitor.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import blake2b
from html import escape
from importlib.resources import files
from ipaddress import ip_address, ip_network
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.web_protocol import RequestHandler
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from sdschat.cli.errors import say
from sdschat.identity.content import problems_with
from sdschat.transport.address import Address
from sdschat.transport.tasks import first

KEPT: Final = 100  # folders of visitors who are not here; those of the longest absent go
_TOKEN_BYTES: Final = 16
_SOURCE: Final = "source"  # a file in the folder of a visitor: where it came from last


_T = TypeVar("_T")


class Visitor(NamedTuple):
    """One open page of a visitor."""

    name: str  # asked for; empty if none is
    otherwise: str  # its name until it takes one
    folder: Path  # for its profile: a key and a history of its own


def new_token() -> str:
    """Return the secret by which a browser comes back to its profile."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def source_of(remote: str | None) -> str:
    """Return the network of an address: of IPv6 the first half, since one client has all of the rest. Empty for this
    machine, whose visitors come from one address, and for a proxy on it."""
    try:
        address = ip_address(remote or "")
    except ValueError:
        return ""
    if address.is_loopback:
        return ""
    return str(address) if address.version == 4 else str(ip_network((address, 64), strict=False))


class Visitors:
    """At most `places` visitors at a time. No source may have more places than would be left for others."""

    def __init__(self, folder: Path, places: int) -> None:
        self._folder = folder
        self._places = places
        self._here: dict[str, str] = {}  # sources, by place
        self._leaving: dict[str, asyncio.Event] = {}  # by place: the page is closed, and its chat is ending

    def has_room(self, source: str) -> bool:
        staying = [one for place, one in self._here.items() if place not in self._leaving]
        own = staying.count(source) if source else 0
        return own < self._places - len(staying)

    @asynccontextmanager
    async def seat(self, token: str, name: str, source: str = "") -> AsyncIterator[Visitor | None]:
        """Give the visitor a place until the block ends; None if there is none for it. A second page of one browser is
        a participant of its own; a page that is loaded again waits until its chat has ended, and goes on with it."""
        owner = blake2b(token.encode(), digest_size=8).hexdigest()
        while ending := [event for place, event in self._leaving.items() if place.startswith(f"{owner}-")]:
            await ending[0].wait()
        if not self.has_room(source):
            yield None
            return
        number = next(number for number in count(1) if f"{owner}-{number}" not in self._here)
        place = f"{owner}-{number}"
        self._here[place] = source
        try:
            folder = self._folder / place
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / _SOURCE).write_text(source)
            folder.touch()
            self._forget()
            wanted = "" if problems_with("", name) else name
            behind = "" if number == 1 else f"-{number}"
            yield Visitor(wanted and f"{wanted}{behind}", f"guest-{owner[:4]}{behind}", folder)
        finally:
            self._here.pop(place, None)
            if (event := self._leaving.pop(place, None)) is not None:
                event.set()

    def leave(self, visitor: Visitor) -> None:
        """Note that the page of this visitor is closed, while its chat still ends."""
        self._leaving[visitor.folder.name] = asyncio.Event()

    def _forget(self) -> None:
        """Delete folders that are too many: of the source that has most of them, the one of the longest absent. So who
        comes as ever other visitors takes nobody else's key."""
        away = [each for each in self._folder.iterdir() if each.name not in self._here]
        away.sort(key=lambda each: each.stat().st_mtime)
        for folder in _surplus(((_source_in(each), each) for each in away), KEPT):
            shutil.rmtree(folder, ignore_errors=True)


def _surplus(found: Iterable[tuple[str, _T]], kept: int) -> Iterator[_T]:
    """Yield those beyond the number that is kept: of the source that has most of them, the first."""
    by_source: dict[str, list[_T]] = {}
    for source, each in found:
        by_source.setdefault(source, []).append(each)
    for _ in range(sum(map(len, by_source.values())) - kept):
        yield max(by_source.values(), key=len).pop(0)


def _source_in(folder: Path) -> str:
    try:
        return (folder / _SOURCE).read_text()
    except (OSError, ValueError):  # of an earlier version
        return ""


_STATIC: Final = Path(textual_serve.__file__).parent / "static"
_COOKIE: Final = "sdschat_visitor"
_COOKIE_SECONDS: Final = 365 * 24 * 3600
_CONNECTIONS: Final = 200  # without a chat: who opens more loses the oldest, or nobody else could open one
_THINNED_EVERY: Final = 1.0  # seconds
_GRACE: Final = 10.0  # seconds for a chat to end by itself
_LARGEST: Final = 256 * 1024  # bytes that a browser sends at once, such as a pasted text
_AT_ONCE: Final = 4096  # keys of a page
_PASTED_FOR_A_KEY: Final = 64  # characters: a pasted text is one event
_A_SECOND: Final = 300  # further ones: the program takes so many, and keeps a kilobyte for each that waits
_KEY: Final = re.compile(r"\x1b\[[0-9;<?]*[A-Za-z~]|.", re.DOTALL)
_SIZES: Final = (10, 500)  # of a terminal, in cells
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self' {socket}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _Chat(AppService):
    """The program of one visitor. It is started without a shell."""

    def __init__(self, arguments: Sequence[str], user: str, socket: web.WebSocketResponse) -> None:
        """`user`: the name of the user on this machine, as far as the program is told."""

        async def close() -> None:
            await socket.close()

        super().__init__(
            "",
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=DownloadManager(),
        )
        self._arguments = arguments
        self._user = user
        self.process: Process | None = None

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = self._build_environment(width, height)
        environment["LOGNAME"] = self._user  # a name for somebody new; who took one goes by that again
        environment.pop("NO_COLOR", None)  # the browser has colours, whatever the terminal of the server has
        process = await asyncio.create_subprocess_exec(
            *self._arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment
        )
        assert process.stdin is not None
        self._process, self._stdin, self.process = process, process.stdin, process
        return process

    async def ended(self) -> None:
        """Wait until the program has ended by itself."""
        assert self.process is not None
        await self.process.wait()

    async def end(self) -> None:
        """End the program, by force if it does not end by itself, or if the server does not wait for it."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await self.stop()
                    if self.process is not None:
                        await self.process.wait()
        finally:
            if self.process is not None and self.process.returncode is None:
                self.process.kill()


class ChatServer:
    """Serves the chat. Each open page has a program, a profile and a key of its own."""

    def __init__(
        self, arguments: Callable[[Visitor], Sequence[str]], visitors: Visitors, *, is_open: bool, title: str
    ) -> None:
        """`arguments`: the command line of a visitor's program. `is_open`: others than this machine may call, by any
        name."""
        self._arguments = arguments
        self._visitors = visitors
        self._is_open = is_open
        self._sockets: set[web.WebSocketResponse] = set()
        self._chatting: set[RequestHandler] = set()  # connections with a chat
        self._title = title

    def application(self) -> web.Application:
        made = web.Application(middlewares=[self._check])
        made.add_routes(
            [
                web.get("/", self._index),
                web.get("/ws", self._socket),
                web.get("/ws/{name}", self._socket),
                web.get("/page.js", self._script),
                web.static("/static", _STATIC),
            ]
        )
        return made

    async def end(self) -> None:
        """End the chats of all visitors."""
        for socket in list(self._sockets):
            await socket.close(code=WSCloseCode.GOING_AWAY, message=b"the server was stopped")

    async def thin_out(self, server: web.Server) -> None:
        """Close connections that are too many, until cancelled: there may be no more of them than files are open."""
        while True:
            others = [each for each in server.connections if each not in self._chatting and each.transport is not None]
            for each in _surplus(((_source_of(each), each) for each in others), _CONNECTIONS):
                each.force_close()
            await asyncio.sleep(_THINNED_EVERY)

    @web.middleware
    async def _check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse a name that is not of this machine: the page of a stranger could bring a browser here by its own."""
        if not (self._is_open or Address("http", _host(request), 0).loopback):
            raise web.HTTPForbidden(text="This server does not go by that name.")
        try:
            return await handler(request)
        except OSError as error:
            if error.filename is None:  # of a connection
                raise
            say(f"a visitor could not be let in: {error.filename}: {error.strerror}")
            raise web.HTTPServiceUnavailable(text="This server can keep nothing now. Try again later.") from error

    async def _index(self, request: web.Request) -> web.StreamResponse:
        if not self._visitors.has_room(source_of(request.remote)):
            raise web.HTTPServiceUnavailable(text="All places are taken. Try again later.")
        socket = f"{'wss' if request.scheme == 'https' else 'ws'}://{request.host}"
        text = files("sdschat.cli.web").joinpath("index.html").read_text("utf-8")
        text = text.replace("$TITLE", escape(self._title)).replace("$SOCKET", escape(f"{socket}/ws"))
        answer = web.Response(text=text, content_type="text/html")
        answer.headers["Content-Security-Policy"] = _POLICY.format(socket=socket)
        answer.headers["Cache-Control"] = "no-store"
        if not request.cookies.get(_COOKIE):
            answer.set_cookie(_COOKIE, new_token(), max_age=_COOKIE_SECONDS, httponly=True, samesite="Strict")
        return answer

    async def _script(self, request: web.Request) -> web.StreamResponse:
        text = files("sdschat.cli.web").joinpath("page.js").read_text("utf-8")
        return web.Response(text=text, content_type="text/javascript")

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Origin") not in (f"http://{request.host}", f"https://{request.host}"):
            raise web.HTTPForbidden(text="Only a page of this server may open this.")
        token = request.cookies.get(_COOKIE) or new_token()
        name, source = request.match_info.get("name", ""), source_of(request.remote)
        async with self._visitors.seat(token, name, source) as visitor:
            if request.transport is None:
                raise web.HTTPServiceUnavailable(text="The page was closed.")  # while it waited for its last chat
            if visitor is None:
                raise web.HTTPServiceUnavailable(text="All places are taken. Try again later.")
            socket = web.WebSocketResponse(heartbeat=15, max_msg_size=_LARGEST)
            await socket.prepare(request)
            self._sockets.add(socket)
            self._chatting.add(request.protocol)
            chat = _Chat(self._arguments(visitor), visitor.otherwise, socket)
            try:
                await chat.start(_cells(request, "width", 80), _cells(request, "height", 24))
                await first(_pass_on(socket, chat), chat.ended())
            finally:
                self._sockets.discard(socket)
                self._chatting.discard(request.protocol)
                self._visitors.leave(visitor)
                try:
                    await socket.close()
                finally:
                    await chat.end()
            return socket


def _source_of(connection: RequestHandler) -> str:
    assert connection.transport is not None
    peer = connection.transport.get_extra_info("peername")
    return source_of(peer[0] if peer else None)


def _host(request: web.Request) -> str:
    try:
        return urlsplit(f"//{request.host}").hostname or ""
    except ValueError:
        return ""


class Pace:
    """The keys of a page: some at once, then so many a second."""

    def __init__(self) -> None:
        self._until = 0.0  # time at which all that were passed on would have come at the rate alone

    def wait(self, keys: int, now: float) -> float:
        """Count keys that are passed on. Return the seconds to wait before the next ones."""
        self._until = max(self._until, now) + keys / _A_SECOND
        return max(0.0, self._until - now - _AT_ONCE / _A_SECOND)


def count_keys(text: str) -> int:
    """Count keys and movements of the mouse; a pasted text counts by its length."""
    typed, *rest = text.split("\x1b[200~")
    keys = 0
    for one in rest:
        pasted, _, after = one.partition("\x1b[201~")
        keys += 1 + len(pasted) // _PASTED_FOR_A_KEY + len(_KEY.findall(after))
    return keys + len(_KEY.findall(typed))


async def _pass_on(socket: web.WebSocketResponse, chat: _Chat) -> None:
    """Pass what the browser says on to the chat, until either ends."""
    pace = Pace()
    async for message in socket:
        if message.type != WSMsgType.TEXT:
            continue
        try:
            match message.json():
                case ["stdin", str(text)]:
                    if (keys := count_keys(text)) > _AT_ONCE:
                        return  # nobody presses so many
                    await chat.send_bytes(text.encode(errors="replace"))
                    await asyncio.sleep(pace.wait(keys, asyncio.get_running_loop().time()))
                case ["resize", {"width": int(width), "height": int(height)}]:
                    await chat.set_terminal_size(_bounded(width), _bounded(height))
                case ["ping", str() | int() | float() as data]:
                    await socket.send_json(["pong", data])
                case ["blur", *_]:
                    await chat.blur()
                case ["focus", *_]:
                    await chat.focus()
        except (ValueError, RecursionError):
            return  # no JSON, or brackets without end: not our page


def _cells(request: web.Request, name: str, default: int) -> int:
    given = request.query.get(name, "")
    return _bounded(int(given)) if given.isascii() and given.isdigit() and len(given) < 6 else default


def _bounded(cells: int) -> int:
    least, most = _SIZES
    return max(least, min(cells, most))


async def serve(server: ChatServer, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve until cancelled. `ready` gets the port, which the system chooses for 0. Raises OSError."""
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=_GRACE)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        ready(runner.addresses[0][1])
        assert runner.server is not None
        await server.thin_out(runner.server)
    finally:
        await server.end()
        await runner.cleanup()
