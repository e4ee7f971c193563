"""The chat in a real browser, and what the server refuses."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import aiohttp
import pytest
from aiohttp import web

from sdschat.cli.errors import CommandProblem
from sdschat.cli.listening import listening_place
from sdschat.cli.web import server
from sdschat.cli.web.server import KEPT, Visitors, _Chat, source_of
from sdschat.transport.address import own_addresses
from sdschat.tui.manual import TOPICS, for_visitors, lines_of
from sdschat.tui.model.words import in_their_cells
from tests.browser import browser
from tests.cli.processes import Pipe, command, environment, run
from tests.transport.worlds import free_port


@contextlib.contextmanager
def serving(
    home: Path, *arguments: str, said: list[str] | None = None, servers: list[subprocess.Popen[str]] | None = None
) -> Iterator[str]:
    """Run the server. Yield its address. `said` gets its standard error, and `servers` the process."""
    home.mkdir(exist_ok=True)
    process = subprocess.Popen(
        command("serve", "lobby", "--port", "0", *arguments),
        cwd=home,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if servers is not None:
        servers.append(process)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().rpartition(" ")[2].strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        _, errors = process.communicate()
        if said is not None:
            said.append(errors)


def test_a_line_typed_in_a_browser_arrives_at_another_node_and_nothing_reaches_the_machine(tmp_path: Path) -> None:
    broker = ("--set", f"embedded.port={free_port()}")
    bob = Pipe(tmp_path, "lobby", "--name", "bob", "--linger", "forever", *broker)
    bob.until_event("joined")

    async def told(address: str) -> None:
        async with browser() as tab:
            await tab.open(f"{address}?name=ann")
            await tab.until("document.body.classList.contains('-first-byte')")
            await asyncio.to_thread(bob.until_event, "presence", nick="ann", online=True)
            await tab.until("document.activeElement.tagName === 'TEXTAREA'")
            await tab.type("typed in a browser")
            await tab.press("Enter", 13)
            await asyncio.to_thread(bob.until_texts, "typed in a browser")
            await tab.type("/export stolen.txt")
            await tab.press("Enter", 13)
            await tab.sent("not for guests")
            await tab.press("F1", 112)
            await tab.sent("You are a visitor: the chat runs on the machine that this page is from")
            assert "sdschat join" not in await tab.ask("window.received")
            await tab.press("Escape", 27)
            await tab.call("Page.reload")
            await tab.sent("typed in a browser")
            assert "ann-2" not in await tab.ask("window.received")
            await tab.open(address)
            await tab.sent("typed in a browser")
            assert "guest-" not in await tab.ask("window.received")
            viewport = "document.querySelector('.xterm-viewport')"
            assert await tab.ask(f"{viewport}.offsetWidth === {viewport}.clientWidth"), "a strip for a scrollbar"
            await tab.picture(tmp_path / "picture.png", 1000, 600, "typed in a browser", "message lobby")
            servers[0].send_signal(signal.SIGINT)
            await tab.until("document.body.innerText.includes('The chat is over: the server was stopped.')")
            await asyncio.to_thread(servers[0].wait, 30)  # a second SIGINT would meet it at its very end

    servers: list[subprocess.Popen[str]] = []
    with serving(tmp_path / "server", *broker, servers=servers) as address:
        asyncio.run(told(address))
    assert not list((tmp_path / "server").rglob("stolen.txt"))
    (key,) = (tmp_path / "server").rglob("visitors/*/profiles/visitor/identity.key")
    assert key.stat().st_mode & 0o077 == 0
    bob.kill(signal.SIGTERM)


@pytest.mark.parametrize(
    ("listen", "place"),
    [
        ("127.0.0.1", ("127.0.0.1", 8000)),
        ("127.0.0.1:8123", ("127.0.0.1", 8123)),
        ("localhost:8123", ("localhost", 8123)),
        ("::1", ("::1", 8000)),
        ("[::1]", ("::1", 8000)),
        ("[::1]:8123", ("::1", 8123)),
    ],
)
def test_address_and_port_may_stand_together(listen: str, place: tuple[str, int]) -> None:
    assert listening_place(listen, 8000) == place


def test_the_address_that_is_printed_leads_to_the_page(tmp_path: Path) -> None:
    """With address and port together it was http://[127.0.0.1:8123]:8123/."""
    with serving(tmp_path, "--listen", "127.0.0.1:0") as address:
        assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d*/", address)


def test_where_it_listens_at_all_addresses_it_prints_those_that_others_can_type(tmp_path: Path) -> None:
    """It was http://0.0.0.0:8000/."""
    with serving(tmp_path, "--listen", "0.0.0.0", "--allow-remote") as address:
        assert address.startswith(tuple(f"http://{host}:" for host in own_addresses() or ["0.0.0.0"]))


@pytest.mark.parametrize("listen", ["127.0.0.1:", "127.0.0.1:http", ":8000", "127.0.0.1:65536", ""])
def test_an_address_without_host_or_with_a_port_that_is_none_is_refused(listen: str) -> None:
    with pytest.raises(CommandProblem, match="--listen"):
        listening_place(listen, 8000)


def test_a_place_where_nothing_can_listen_has_its_reason_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(tmp_path, "serve", "lobby", "--port", str(port))
    told = f"sdschat: Port {port} on 127.0.0.1 is taken. Choose another one with --port; 0 is any that is free.\n"
    assert (done.returncode, done.stderr) == (2, told)
    done = run(tmp_path, "serve", "lobby", "--listen", "192.0.2.1", "--allow-remote")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("sdschat: 192.0.2.1 is no address of this machine. Choose one")


def test_a_folder_for_visitors_that_cannot_be_made_ends_the_server_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run(tmp_path, "serve", "lobby", "--port", "0", "--data-dir", str(tmp_path / "file" / "in-it"))
    assert (done.returncode, len(done.stderr.splitlines())) == (5, 1), done.stderr
    assert "visitors cannot be written: Not a directory. Visitors have their keys" in done.stderr
    assert "--data-dir" in done.stderr


def test_a_folder_for_visitors_that_is_lost_is_told_in_a_line_on_both_sides(tmp_path: Path) -> None:
    """The server wrote a traceback."""
    home = tmp_path / "server"

    async def told(address: str) -> None:
        visitors = home / "data" / "sdschat" / "visitors"
        visitors.rmdir()
        visitors.touch()
        own = {"Origin": address.rstrip("/")}
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                await session.ws_connect(f"{address}ws", headers=own)

    said: list[str] = []
    with serving(home, said=said) as address:
        asyncio.run(told(address))
    assert "Traceback" not in said[0]
    assert "a visitor could not be let in: " in said[0]


def test_two_ports_are_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "serve", "lobby", "--listen", "127.0.0.1:1", "--port", "2")
    assert (done.returncode, "Leave out one" in done.stderr) == (2, True)


def test_a_visitor_is_told_nothing_that_only_a_shell_can_do() -> None:
    lines = [
        "first: sdschat join lobby",
        "    sdschat demo   plays",
        "Give it away. sdschat invite prints one; /join works.",
    ]
    assert for_visitors(lines) == ["Give it away. /join works."]
    assert for_visitors(["plain"], begins=True)[0].startswith("-  You are a visitor")
    first = for_visitors(lines_of(TOPICS["chat"]), begins=True)
    assert not [at for at in range(len(first)) if first[at : at + 2] == ["", ""] or first[at:] == [""]]
    assert "no broker given" not in " ".join(first)
    assert for_visitors(["--plain prints lines; it has the same commands. Good."]) == ["Good."]
    for topic in TOPICS.values():
        assert "sdschat join" not in " ".join(for_visitors(lines_of(topic)))


def test_pages_of_others_and_a_visitor_too_many_are_refused(tmp_path: Path) -> None:
    async def told(address: str) -> None:
        own = {"Origin": address.rstrip("/")}
        async with aiohttp.ClientSession() as session:
            for headers in ({}, {"Origin": "http://elsewhere.example"}):
                with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                    await session.ws_connect(f"{address}ws", headers=headers)
            async with session.get(address, headers={"Host": "elsewhere.example"}) as answer:
                assert answer.status == 403
            async with session.get(address) as answer:
                assert answer.status == 200
                assert "https://" not in await answer.text()
                assert answer.cookies["sdschat_visitor"]["httponly"]
            async with session.ws_connect(f"{address}ws", headers=own):
                async with session.get(address) as answer:
                    assert (answer.status, "places are taken" in await answer.text()) == (503, True)
                with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                    await session.ws_connect(f"{address}ws", headers=own)

    with serving(tmp_path, "--visitors", "1", "--set", f"embedded.port={free_port()}") as address:
        asyncio.run(told(address))


def test_a_chat_that_cannot_start_does_not_leave_the_page_waiting(tmp_path: Path) -> None:
    async def told(address: str) -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{address}ws", headers={"Origin": address.rstrip("/")}) as socket,
            asyncio.timeout(20),
        ):
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE

    with serving(tmp_path, "--password-file", "nothing.txt", "--broker", "mqtt://ann@127.0.0.1:1") as address:
        asyncio.run(told(address))


@pytest.mark.parametrize("sent", ["no JSON", "[" * 100_000])
def test_what_no_page_of_ours_says_ends_its_chat_without_a_trace(tmp_path: Path, sent: str) -> None:
    async def told(address: str) -> None:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"{address}ws", headers={"Origin": address.rstrip("/")}) as socket,
            asyncio.timeout(20),
        ):
            await socket.send_str(sent)
            while (await socket.receive()).type is not aiohttp.WSMsgType.CLOSE:
                pass

    said: list[str] = []
    with serving(tmp_path, "--set", f"embedded.port={free_port()}", said=said) as address:
        asyncio.run(told(address))
    assert "Traceback" not in said[0]


def test_a_chat_that_does_not_end_is_killed_when_the_server_does_not_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that had four million keys to work off went on for an hour after its server."""
    monkeypatch.setattr(server, "_GRACE", 0.1)

    async def told() -> None:
        arguments = [sys.executable, "-c", "import time; time.sleep(60)"]
        chat = _Chat(arguments, "ann", web.WebSocketResponse())
        await chat.start(80, 24)
        ends = asyncio.create_task(chat.end())
        await asyncio.sleep(0)
        ends.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ends
        assert chat.process is not None
        async with asyncio.timeout(20):
            assert await chat.process.wait() == -signal.SIGKILL

    asyncio.run(told())


async def _write_in_a_page(address: str, line: str, drawn: str) -> str:
    """Write a line as a page does, wait until this is drawn, and return all that was."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{address}ws", headers={"Origin": address.rstrip("/")}) as socket,
        asyncio.timeout(30),
    ):
        received = ""
        while "message lobby" not in received:
            received += (await socket.receive_bytes()).decode(errors="replace")
        await socket.send_json(["stdin", line])
        while drawn not in received:
            received += (await socket.receive_bytes()).decode(errors="replace")
        return received


def test_what_follows_a_family_is_in_its_column_in_a_page_too(tmp_path: Path) -> None:
    """The page counts more cells than were counted here: the end of the line, and its sign, were beyond its border."""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    with serving(tmp_path, "--set", f"embedded.port={free_port()}") as address:
        asyncio.run(_write_in_a_page(address, f"a {family}", in_their_cells(family)))


def test_a_page_is_sent_no_isolates_which_would_take_cells_there(tmp_path: Path) -> None:
    with serving(tmp_path, "--set", f"embedded.port={free_port()}") as address:
        received = asyncio.run(_write_in_a_page(address, "\u05e9\u05dc\u05d5\u05dd\r", "unacked"))
    assert not re.search("[\u2066-\u2069]", received)


def test_an_address_that_others_reach_needs_to_be_allowed(tmp_path: Path) -> None:
    done = run(tmp_path, "serve", "lobby", "--listen", "0.0.0.0")
    assert (done.returncode, "--allow-remote" in done.stderr) == (2, True)


def test_a_browser_comes_back_to_its_own_folder_and_a_second_page_has_another(tmp_path: Path) -> None:
    async def come() -> None:
        visitors = Visitors(tmp_path / "visitors", 2)
        async with visitors.seat("token", "ann") as first, visitors.seat("token", "ann") as second:
            assert first is not None
            assert second is not None
            assert (first.name, second.name) == ("ann", "ann-2")
            assert first.folder != second.folder
            async with visitors.seat("other", "") as third:
                assert third is None
        async with visitors.seat("token", "not\na name") as again:
            assert again is not None
            assert again.folder == first.folder
            assert (again.name, again.otherwise[:6]) == ("", "guest-")

    asyncio.run(come())


def test_a_page_that_is_loaded_again_waits_for_its_chat_to_end_and_has_its_place(tmp_path: Path) -> None:
    """It became another participant, with another key."""
    visitors = Visitors(tmp_path / "visitors", 1)
    folders: list[Path] = []

    async def load() -> None:
        async with visitors.seat("token", "ann") as visitor:
            assert visitor is not None
            folders.append(visitor.folder)

    async def load_again() -> None:
        async with visitors.seat("token", "ann") as first:
            assert first is not None
            visitors.leave(first)
            assert visitors.has_room("")
            again = asyncio.create_task(load())
            await asyncio.sleep(0)
            assert not folders
        await again
        assert folders == [first.folder]

    asyncio.run(load_again())


def test_who_takes_places_by_ever_new_cookies_leaves_some_to_others(tmp_path: Path) -> None:
    async def come() -> None:
        visitors = Visitors(tmp_path / "visitors", 8)
        async with contextlib.AsyncExitStack() as here:
            given = [await here.enter_async_context(visitors.seat(f"token {at}", "", "192.0.2.1")) for at in range(20)]
            assert sum(visitor is not None for visitor in given) == 4
            assert visitors.has_room("192.0.2.2")

    asyncio.run(come())


def test_who_comes_by_ever_new_cookies_takes_nobody_else_s_key(tmp_path: Path) -> None:
    async def come() -> None:
        visitors = Visitors(tmp_path / "visitors", 8)
        async with visitors.seat("ann", "ann", "192.0.2.2") as ann:
            assert ann is not None
        for at in range(KEPT + 5):
            async with visitors.seat(f"token {at}", "", "192.0.2.1"):
                pass
        assert ann.folder.exists()
        assert len(list(ann.folder.parent.iterdir())) <= KEPT + 1

    asyncio.run(come())


def test_connections_that_say_nothing_are_closed_where_they_are_too_many(tmp_path: Path) -> None:
    """1,100 of them used up all files that a process may have open, and no page came any more."""
    with serving(tmp_path) as address, contextlib.ExitStack() as ends:
        place = urlsplit(address)
        silent = [
            ends.enter_context(socket.create_connection((place.hostname or "", place.port or 0))) for _ in range(250)
        ]
        silent[0].settimeout(30)
        assert silent[0].recv(1) == b"", "the oldest is closed"
        silent[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            silent[-1].recv(1)
        with urlopen(address) as page:
            assert page.status == 200


@pytest.mark.parametrize(
    ("remote", "source"),
    [
        ("127.0.0.1", ""),
        ("::1", ""),
        (None, ""),
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ],
)
def test_the_source_of_a_visitor_is_its_address_or_network(remote: str | None, source: str) -> None:
    assert source_of(remote) == source
