"""The command that writes a page of the last minutes, and the page in a real browser."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sdschat.node.recording.replay import ReplayNode
from sdschat.node.sharing.events import SharedEvents, page, page_name
from sdschat.node.sharing.to_recording import read_played
from sdschat.node.view.conversations import Conversations
from sdschat.tui.plain.lens import view_text
from tests.browser import Tab, browser
from tests.cli.processes import run
from tests.tui.stage import Stage, staged

ANN, BOB = "a" * 20, "b" * 20
EVIL = "</script><img src=x onerror=document.title='caught'>"


def event(at: int, name: str, **more: Any) -> dict[str, Any]:
    return {"ts_ms": 1_760_000_000_000 + at, "event": name, **more}


def said(at: int, who: str, message_id: str, text: str, **more: Any) -> dict[str, Any]:
    nick = {ANN: "ann", BOB: EVIL}[who]
    return event(at, "delivered", sender=who, message_id=message_id, lamport=at, nick=nick, text=text, **more)


STORY = SharedEvents(
    EVIL,
    ANN,
    {ANN: "ann", BOB: EVIL},
    True,
    [
        said(0, ANN, "m1", "hello", cause="live", messages=1, fingerprint="11" * 16),
        event(0, "sent", message_id="m1", cause="message", bytes=120),
        event(400, "acked", message_id="m1", peer=BOB),
        event(1000, "missing", message_id="m3", deps=["m2"]),
        event(1500, "repair_requested", message_id="m9", deps=["m2"]),
        said(2000, BOB, "m2", EVIL, cause="repair", messages=2, fingerprint="22" * 16),
        said(2001, BOB, "m3", "after it", cause="live", messages=3, fingerprint="33" * 16),
    ],
)


def in_browser(tmp_path: Path, shared: SharedEvents, look: Any) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(shared))

    async def told() -> None:
        async with browser() as tab:
            await tab.open(file.as_uri())
            await look(tab)

    asyncio.run(told())


async def texts(tab: Tab) -> list[str]:
    found: list[str] = await tab.ask("[...document.querySelectorAll('#messages li')].map(e => e.innerText)")
    return found


def test_the_page_plays_pauses_steps_and_saves_its_events(tmp_path: Path) -> None:
    async def look(tab: Tab) -> None:
        slider = "document.getElementById('slider')"
        assert "after it" in (await texts(tab))[-1]
        assert "acked 1" in (await texts(tab))[0]
        assert await tab.ask("document.getElementById('log').dataset.fingerprint") == "33" * 16
        assert await tab.ask("document.title") == f"{EVIL} · sdschat"
        assert await tab.ask("document.images.length") == 0
        await tab.ask(f"{slider}.value = 1600; {slider}.dispatchEvent(new Event('input'))")
        assert "m2 by " in (row := (await texts(tab))[-1])
        assert "is missing: others named it" in row
        await tab.ask("document.getElementById('back').click()")
        assert "event 4 of 7" in await tab.ask("document.getElementById('time').textContent")
        await tab.ask("document.getElementById('speed').value = '20'; document.getElementById('play').click()")
        await tab.until("document.getElementById('time').textContent.includes('event 7 of 7')")
        assert EVIL in (await texts(tab))[1]
        saved = (
            "new Promise(done => { URL.createObjectURL = b => { b.text().then(done); return '#'; };"
            " document.getElementById('save').click(); })"
        )
        lines = [json.loads(line) for line in (await tab.ask(saved)).splitlines()]
        assert lines == [STORY.head(), *STORY.lines]

    in_browser(tmp_path, STORY, look)


def test_the_page_shows_the_state_that_the_chat_shows_and_says_what_is_left_out(tmp_path: Path) -> None:
    lines = [
        event(0, "sent", message_id="sync-4fed12", cause="sync", bytes=80),
        said(1000, BOB, "m2", "here", cause="live", messages=7, fingerprint="11" * 16) | {"nick": "bob"},
        event(1500, "push_scheduled", message_id="m2", peer=BOB, attempt=9),
        event(1600, "push_cancelled", message_id="m2", cause="heard_again"),
        event(2000, "sent", message_id="m3", cause="message", bytes=120),  # before its delivery, as in the journal
        said(2000, ANN, "m3", "newest", cause="live", messages=8, fingerprint="22" * 16),
    ]

    async def look(tab: Tab) -> None:
        rows = await texts(tab)
        assert rows[0] == "6 earlier messages are in the log, and not listed here"
        assert (len(rows), "unacked" in rows[2]) == (3, True)
        happened = await tab.ask("[...document.querySelectorAll('#events li')].map(e => e.innerText)")
        assert [row.partition(" ")[2] for row in happened[:5:2]] == [
            "sync packet sent · 80 B",
            "to be sent unasked · m2 · to bob",
            "packet sent · m3 · message · 120 B",
        ]
        assert happened[3].endswith("not sent unasked · m2 · somebody else sent it")
        about = await tab.ask("document.getElementById('about').textContent")
        assert re.search(r" · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\S*, 0:02 long", about), about
        assert "8 in the log · fingerprint 22222222" in await tab.ask("document.getElementById('log').innerText")

    in_browser(tmp_path, SharedEvents("lobby", ANN, {ANN: "ann", BOB: "bob"}, True, lines), look)


def test_the_page_of_a_recording_names_who_is_here_and_its_sync_packets(tmp_path: Path) -> None:
    here = [event(0, "here", sender="c" * 20), event(1, "here", sender=ANN), event(2, "here", sender=BOB)]
    lines = [*here, event(3, "sent", cause="sync", bytes=80)]

    async def look(tab: Tab) -> None:
        people = "document.getElementById('people').textContent"
        assert await tab.ask(people) == "here: ann, bob", "our own presence begins another run, with nobody else"
        newest = await tab.ask("[...document.querySelectorAll('#events li')].at(-1).innerText")
        assert newest.endswith(" sync packet sent · 80 B")

    in_browser(tmp_path, SharedEvents("lobby", ANN, {ANN: "ann", BOB: "bob"}, True, lines), look)


def test_the_page_tells_at_its_end_that_its_own_node_left(tmp_path: Path) -> None:
    lines = [event(0, "here", sender=ANN), event(1, "here", sender=BOB), event(9, "left", sender=ANN)]

    async def look(tab: Tab) -> None:
        people = "document.getElementById('people').textContent"
        assert await tab.ask(people) == "ann left the channel"
        newest = "[...document.querySelectorAll('#events li')].at(-1).innerText"
        assert (await tab.ask(newest)).endswith(" left · ann")
        await tab.ask("document.getElementById('back').click()")
        assert await tab.ask(people) == "here: ann, bob"

    in_browser(tmp_path, SharedEvents("lobby", ANN, {ANN: "ann", BOB: "bob"}, True, lines), look)


def test_cells_stand_for_those_who_are_or_were_here_and_the_number_counts_proofs_alone(tmp_path: Path) -> None:
    carol, dave = "c" * 20, "d" * 20
    lines = [
        *(event(0, "here", sender=each) for each in (ANN, BOB, carol)),
        said(1, ANN, "m1", "hello", cause="live"),
        event(400, "acked", message_id="m1", peer=BOB, cause="mention"),
        event(500, "acked", message_id="m1", peer=carol, cause="filter"),
        event(600, "here", sender=dave),
        event(700, "left", sender=dave),
        event(800, "left", sender=carol),
    ]

    async def look(tab: Tab) -> None:
        assert "●◐ 1/2 ✓ acked 1" in (await texts(tab))[0]

    in_browser(tmp_path, SharedEvents("lobby", ANN, {ANN: "ann", BOB: "bob"}, True, lines), look)


def test_each_own_message_has_a_cell_for_each_participant_and_lists_the_evidence(tmp_path: Path) -> None:
    carol, dave = "c" * 20, "d" * 20
    lines = [
        said(0, ANN, "m1", "hello", cause="live"),
        event(10, "sync_received", peer=carol),
        event(20, "sync_received", peer=dave),
        event(100, "possibly_acked", message_id="m1", peer=carol, cause="filter"),
        event(400, "acked", message_id="m1", peer=BOB, cause="mention"),
        event(500, "possibly_acked", message_id="m1", peer=BOB, cause="filter"),
    ]

    async def look(tab: Tab) -> None:
        assert "◐○● 1/3 ✓ acked 1" in (await texts(tab))[0]
        await tab.ask("document.querySelector('#messages .tick').click()")
        assert re.fullmatch(
            r"carol: perhaps, in their filter, which may be chance, [\d:]+ · dave: nothing yet · "
            r"bob: known, named it, [\d:]+",
            (await texts(tab))[1],
        )
        await tab.ask("document.querySelector('#messages .tick').click()")
        assert len(await texts(tab)) == 1
        await tab.ask("document.getElementById('back').click()")
        await tab.ask("document.getElementById('back').click()")
        assert "◐○ 0/2 ◐ perhaps 1" in (await texts(tab))[0], "who was not heard yet has no cell"

    nicks = {ANN: "ann", BOB: "bob", carol: "carol", dave: "dave"}
    in_browser(tmp_path, SharedEvents("lobby", ANN, nicks, True, lines), look)


def test_two_keys_of_one_nick_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    other = "c" * 20
    both = [said(0, ANN, "m1", "hello"), said(1, ANN, "m2", "hello") | {"sender": other}]

    async def look(tab: Tab) -> None:
        names = await tab.ask("[...document.querySelectorAll('#messages .nick')].map(e => e.textContent)")
        assert names == ["ann aaaa", "ann cccc"]

    in_browser(tmp_path, SharedEvents("lobby", ANN, {ANN: "ann", other: "ann"}, True, both), look)


@staged(peers=("bob",))
async def test_share_writes_a_page_for_the_owner_alone(s: Stage) -> None:
    s.say("look at this")
    await s.until_text("look at this")
    file = s.world.folder / "page.html"
    await s.enter(f"/share {file}")
    await s.until_text("The page is")
    await s.until_text("/share no-texts leaves")
    assert "look at this" in file.read_text()
    await s.enter(f"/share no-texts {s.world.folder / 'bare.html'}")
    await s.until_text("nicks,")  # a word, since the path before it makes lines end anywhere
    assert "look at this" not in (s.world.folder / "bare.html").read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    await s.enter(f"/share {file}")
    await s.until(lambda: "there already" in s.hint())


@staged(peers=("bob",))
async def test_share_says_the_whole_place_and_takes_the_home_where_nothing_can_be_written(s: Stage) -> None:
    home = s.world.folder / "home"
    home.mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir("/proc")  # nobody can write there, not even root
        patched.setenv("HOME", str(home))
        await s.enter("/share")
        await s.until(lambda: any(home.glob("share-lobby-*.html")))
    (made,) = home.glob("share-lobby-*.html")

    def told() -> str:
        page = s.app.sheet.page
        return s.hint() if page is None else " ".join(page.lines)

    await s.until(lambda: str(made) in told(), "the whole place")


@staged()
async def test_texts_of_a_private_channel_leave_it_only_after_a_second_word(s: Stage) -> None:
    await s.enter("/create garden")
    await s.until_text("private, key 1")
    await s.enter("between us")
    file = s.world.folder / "page.html"
    await s.enter(f"/share {file}")
    await s.until(lambda: "texts in clear" in s.hint())
    assert not file.exists()
    await s.enter_instead(f"/share {file} yes")
    await s.until(file.exists)
    assert "between us" in file.read_text()


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ((), 0, "share-lobby.html is written"),
        (("--from", "nothing.jsonl"), 2, "nothing.jsonl cannot be read"),
        (("--minutes", "0"), 2, "0"),
        (("--minutes", "1e-5"), 0, "nothing happened in lobby in the last 1e-05 minutes; --minutes takes more"),
    ],
)
def test_share_from_the_shell(tmp_path: Path, options: tuple[str, ...], code: int, words: str) -> None:
    assert run(tmp_path, "pipe", "lobby", "--name", "ann", "--linger", "0s", stdin=b"hello\n").returncode in (0, 6)
    done = run(tmp_path, "share", "lobby", "--name", "ann", *options)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr


def test_a_second_page_from_the_shell_has_the_time_in_its_name(tmp_path: Path) -> None:
    assert run(tmp_path, "pipe", "lobby", "--name", "ann", "--linger", "0s", stdin=b"hello\n").returncode in (0, 6)
    done = [run(tmp_path, "share", "lobby", "--name", "ann") for _ in range(2)]
    assert [each.returncode for each in done] == [0, 0]
    assert re.search(r"share-lobby-\d{8}-\d{6}\.html is written", done[1].stderr)


@staged(peers=("bob",))
async def test_the_page_of_who_said_nothing_names_them(s: Stage) -> None:
    s.say("hello")
    await s.until_text("hello")
    path = s.world.folder / "heard.html"
    await s.enter(f"/share 5 {path}")
    await s.until(path.exists, "the page")
    assert f'"{s.app.node.sender_id}":"ann"' in path.read_text().replace(" ", "")


@pytest.mark.parametrize(
    ("cause", "event", "words"),
    [
        ("filter", "possibly_acked", "perhaps: it is in a filter of bob (how often that is wrong is not known here)"),
        ("mention", "acked", "acked: bob names it in a causal history"),
    ],
)
def test_why_says_of_a_page_that_is_played_what_it_does_not_tell(
    tmp_path: Path, cause: str, event: str, words: str
) -> None:
    ann, bob = "a" * 32, "b" * 32
    said = {"ts_ms": 1000, "event": "delivered", "message_id": "m1", "sender": ann, "lamport": 7, "nick": "ann"}
    found = {"ts_ms": 2000, "event": event, "message_id": "m1", "peer": bob, "cause": cause}
    lines: list[dict[str, Any]] = [{**said, "text": "hi", "deps": []}, found]
    (tmp_path / "page.html").write_text(page(SharedEvents("lobby", ann, {ann: "ann", bob: "bob"}, True, lines)))

    async def told() -> str:
        recording = read_played(tmp_path / "page.html")
        node = ReplayNode(recording, tmp_path / "played.db")
        node.go_to(len(recording.steps))
        view = Conversations(node)
        try:
            return view_text(view, "why", "lobby", "m1")
        finally:
            view.close()
            await node.close()

    assert words in " ".join(asyncio.run(told()).split())


def test_both_ways_to_a_page_name_its_file_alike() -> None:
    at = datetime(2026, 11, 26, 20, 30, 1)
    assert page_name("v1.2/x y") == "share-v1.2-x-y.html"
    assert page_name("v1.2/x y", at) == "share-v1.2-x-y-20261126-203001.html"
