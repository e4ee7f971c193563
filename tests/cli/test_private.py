"""Private channels in real processes: nothing readable passes the broker, and invites are read back from the screen."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import subprocess
import time
from base64 import b32encode, b64decode, b64encode, urlsafe_b64encode
from pathlib import Path

import pytest

from sdschat.cli import remove, send
from sdschat.cli.errors import CommandProblem, in_the_chat
from sdschat.identity.packets import SIZES
from sdschat.node.events import MessageDelivered, NotAMember
from sdschat.node.private.links import broker_for_others, broker_of, link_broker, link_channel
from sdschat.node.profile import open_profile
from sdschat.node.settings import Settings
from sdschat.node.view import private as view_of_private
from sdschat.node.view.user_texts import UserTexts, last_broker
from sdschat.store.errors import ProfileInUse
from sdschat.transport.base import Received
from tests.cli.processes import Pipe, command, environment, run
from tests.node.privately import announcements, private, three, without_carol
from tests.node.worlds import PATIENCE, world
from tests.qr import BLOCKS, decoded
from tests.transport.worlds import Mosquitto, beside_mosquitto, connected, free_port, quick
from tests.tui.terminal import Terminal


def test_an_invite_comes_as_a_link_and_as_a_picture_of_it(tmp_path: Path) -> None:
    made = run(tmp_path, "create", "garden", "--private", "--name", "ann", "--broker", "mqtt://ann@broker.example:1883")
    assert made.returncode == 0, made.stderr
    invited = run(tmp_path, "invite", "garden", "--name", "ann", "--uses", "3", "--expires", "7d", "--qr")
    link = invited.stdout.strip()
    assert link.startswith("sdschat:")
    assert link != made.stdout.strip()
    picture = [line for line in invited.stderr.splitlines() if set(line) <= set(BLOCKS)]
    assert decoded(picture) == link
    assert max(map(len, picture)) < 80


def test_an_invite_says_at_a_terminal_how_it_is_used(tmp_path: Path) -> None:
    made = run(tmp_path, "create", "garden", "--private", "--name", "ann", "--broker", "mqtt://broker.example:1883")
    assert made.returncode == 0, made.stderr
    with Terminal(command("invite", "garden", "--name", "ann"), tmp_path, size=(100, 30)) as terminal:
        terminal.until_text("sdschat join LINK")
        assert terminal.wait() == 0
        assert "this machine" not in terminal.text()
    assert "join LINK" not in run(tmp_path, "invite", "garden", "--name", "ann").stderr


@pytest.mark.parametrize("broker", ["", "mqtt://127.0.0.1:1884", "mqtt://localhost"])
def test_a_link_to_the_broker_of_this_machine_says_that_it_is_of_use_here_alone(tmp_path: Path, broker: str) -> None:
    where = ["--broker", broker] if broker else []
    told = run(tmp_path, "create", "shed", "--private", "--name", "ann", *where).stderr
    assert "of use on this machine alone" in told
    assert "sdschat broker --listen 0.0.0.0:1883" in told


def test_who_makes_a_channel_beside_an_open_chat_is_told_what_to_type_there(tmp_path: Path) -> None:
    run(tmp_path, "create", "shed", "--private", "--name", "ann")
    with open_profile(next(tmp_path.rglob("sdschat.db")), Settings()).store:
        done = run(tmp_path, "create", "my club", "--private", "--members", "--name", "ann")
        other = run(tmp_path, "create", "shop", "--private", "--admins-invite", "--name", "ann")
    assert (done.returncode, other.returncode) == (5, 5)
    assert ". If that is a chat, type /create 'my club' private members in it" in done.stderr
    assert "/create" not in other.stderr, "it makes no such channel"


def test_a_private_channel_is_on_the_broker_that_the_chat_was_on_last(tmp_path: Path) -> None:
    """A group whose broker moved had to name it at each start, and its links led to the old one."""
    old, new = "mqtt://old.example:1883", "mqtt://new.example:1883"
    made = run(tmp_path, "create", "garden", "--private", "--name", "ann", "--broker", old)
    link = made.stdout.strip()
    with open_profile(next(tmp_path.rglob("sdschat.db")), Settings()).store as store:
        assert broker_of(store, "garden") == old
        assert link_broker(link) == old
        texts, name = UserTexts(store), last_broker(link_channel(link))
        texts.set_value(name, new)
        assert broker_of(store, "garden") == broker_for_others(store, link_channel(link)) == new
        texts.set_value(name, "mqtt://127.0.0.1:1883")
        assert broker_of(store, "garden") == "mqtt://127.0.0.1:1883"
        assert broker_for_others(store, link_channel(link)) == old, "nobody elsewhere finds that one"
        texts.set_value(name, new)
    assert link_broker(run(tmp_path, "invite", "garden", "--name", "ann").stdout.strip()) == new


def test_a_profile_that_is_open_in_a_chat_names_the_command_of_the_chat(tmp_path: Path) -> None:
    with (
        pytest.raises(
            CommandProblem, match=r"is in use by process 7; .* If that is a chat, type /remove bob yes in it"
        ),
        in_the_chat("/remove bob yes"),
    ):
        raise ProfileInUse(tmp_path / "x.db", 7)


def test_a_terminal_that_is_too_narrow_for_the_picture_says_how_wide_it_must_be(tmp_path: Path) -> None:
    made = command("create", "garden", "--private", "--name", "ann", "--qr", "--broker", "mqtt://broker.example:1883")
    with Terminal(made, tmp_path, size=(40, 30)) as terminal:
        terminal.until_text("The QR code needs 65 columns")
        assert terminal.wait() == 0
        assert not set(BLOCKS) - {" "} & set(terminal.text())


def test_where_history_begins_with_joining_an_invite_needs_a_connection_and_a_store_is_refused(tmp_path: Path) -> None:
    def story(home: Path, url: str) -> None:
        where = ("--broker", url)
        made = run(home, "create", "garden", "--private", "--history", "since-join", "--name", "ann", *where)
        assert (made.returncode, made.stdout) == (0, "")
        assert "sdschat invite garden~" in made.stderr
        links = [run(home, "invite", "garden", "--name", "ann", *where).stdout.strip() for _ in range(2)]
        assert all(link.startswith("sdschat:") for link in links)
        refused = run(home, "store", links[1], *where)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
        assert "nothing for a Store" in refused.stderr

    beside_mosquitto(tmp_path, story)


def test_the_first_message_into_a_private_channel_is_not_taken_for_a_mistyped_name(tmp_path: Path) -> None:
    """Its creator was said never to have been in it, and others to join it without a link."""

    def story(home: Path, url: str) -> None:
        assert run(home, "create", "garden", "--private", "--name", "ann", "--broker", url).returncode == 0
        sent = run(home, "send", "garden", "the first", "--name", "ann", "--broker", url)
        assert (sent.returncode, sent.stderr) == (0, "")

    beside_mosquitto(tmp_path, story)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("create", "garden"), "Say --private"),
        (("create", "garden~x", "--private"), "cannot have a ~"),
        (("create", "garden", "--history", "since-join"), "is for private channels"),
        (("create", "garden", "--private", "--members", "--history", "since-join"), "no members' channels"),
        (("invite", "lobby"), "no private channel"),
        (("invite", "lobby"), "an open one can be joined without an invite"),
        (("create", "hut", "--members", "--admins-invite"), "--admins-invite is for private channels"),
        (("create", "hut", "--members", "--uses", "1"), "--uses is for private channels"),
        (("create", "hut", "--members", "--expires", "7d"), "--expires is for private channels"),
        (("create", "hut", "--members", "--qr"), "--qr is for private channels"),
        (("invite", "yard"), "is a members' channel, and needs no link: others knock"),
        (("create", "garden", "--private", "--expires", "soon"), "--expires is 'soon'"),
        (("send", "sdschat:AAAA", "hello"), "not a whole invite"),
    ],
)
def test_each_mistake_is_told_in_a_line(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    for name, kind in (("shed", "--private"), ("yard", "--members")):
        assert run(tmp_path, "create", name, kind, "--name", "ann").returncode == 0
    done = run(tmp_path, *arguments, "--name", "ann")
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_create_says_who_may_remove_and_delete(tmp_path: Path) -> None:
    told = run(tmp_path, "create", "shed", "--private", "--name", "ann").stderr
    assert "You may remove members (sdschat remove), and so may admins whom you appoint" in told
    assert "nobody can change or delete what is written" in told
    assert "You open it with: sdschat join shed~" in told
    for kind in (["--members"], ["--members", "--private"]):
        told = run(tmp_path, "create", f"yard{len(kind)}", *kind, "--name", "ann").stderr
        assert "Whoever wrote a post may change and delete it, and you may delete any." in told


def test_who_may_not_remove_is_refused_before_anything_is_joined(tmp_path: Path) -> None:
    """There is no broker, so that a refusal after a connection would be another one."""
    url = f"mqtt://127.0.0.1:{free_port()}"
    link = run(tmp_path, "create", "garden", "--private", "--name", "ann", "--broker", url).stdout.strip()
    for name, channel, words in (
        ("eve", "garden", "garden is no private channel of this profile"),
        ("bob", link, "You are no member of garden~"),
        ("bob", "garden", "You are no member of garden~"),
    ):
        done = run(tmp_path, "remove", channel, "carol", "--name", name, "--broker", url)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert words in done.stderr


def test_the_command_by_which_others_join_a_members_channel_has_a_place_for_their_user(tmp_path: Path) -> None:
    wanted = ("create", "yard", "--members", "--name", "ann", "--broker", "mqtt://ann@127.0.0.1:9")
    made = run(tmp_path, *wanted, env={"SDSCHAT_BROKER_PASSWORD": "secret"})
    assert "sdschat join yard --broker mqtt://USER@127.0.0.1:9." in made.stderr


def test_where_a_members_channel_was_made_is_known_when_it_is_joined_elsewhere(tmp_path: Path) -> None:
    """Joining it without naming the broker that it was made on led to another broker, without a word."""
    made = run(tmp_path, "create", "yard", "--members", "--name", "ann", "--broker", "mqtt://127.0.0.1:9")
    assert "You open it, and others knock, with: sdschat join yard --broker mqtt://127.0.0.1:9." in made.stderr
    here = f"mqtt://127.0.0.1:{free_port()}"
    joined = run(tmp_path, "join", "yard", "--plain", "--name", "ann", "--broker", here, stdin=b"/quit\n")
    assert f"yard is on {here} now; the last time it was on mqtt://127.0.0.1:9." in joined.stdout


def test_who_wants_to_remove_from_a_members_channel_is_told_how_members_go(tmp_path: Path) -> None:
    """The channel was called an open one."""
    url = f"mqtt://127.0.0.1:{free_port()}"
    run(tmp_path, "create", "yard", "--members", "--name", "ann", "--broker", url)
    done = run(tmp_path, "remove", "yard", "bob", "--name", "ann", "--broker", url)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "who is silent for long is voted out" in done.stderr
    assert "sdschat create NAME --private --members" in done.stderr


def test_whoever_was_made_an_admin_while_away_removes_a_member_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with world(tmp_path) as here:
            ann, bob, carol = await three(here)
            name = private(ann).record.name
            for each in (ann, bob, carol):
                await each.node.close(0.1)
            bob = here.start("bob")
            monkeypatch.setattr(remove, "_APPOINTED", 0.3)
            with pytest.raises(CommandProblem, match=r"without rights\. Choose .*Nobody else is here, who could tell"):
                await remove._remove(bob.node, name, "carol", False, False)
            await bob.node.close(0.1)
            ann, carol = here.start("ann", name), here.start("carol", name)
            view_of_private.appoint(ann.node, name, "bob", True)
            await carol.until(MessageDelivered)
            bob = here.start("bob")
            monkeypatch.setattr(remove, "_APPOINTED", 5.0)
            assert await remove._remove(bob.node, name, "carol", False, False) == 0
            await carol.until(NotAMember)

    asyncio.run(story())


def test_a_link_that_is_altered_or_has_expired_is_refused_in_a_line(tmp_path: Path) -> None:
    link = run(tmp_path, "create", "garden", "--private", "--name", "ann", "--expires", "1ms").stdout.strip()
    forged = link[:60] + ("A" if link[60] != "A" else "B") + link[61:]
    for text, words in ((link, "has expired"), (forged, "is forged"), (link[:-20], "not a whole invite")):
        done = run(tmp_path, "send", text, "hello", "--name", "bob")
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert words in done.stderr


def test_who_sends_by_a_link_that_is_used_up_is_told_that_nobody_shows_it(tmp_path: Path) -> None:
    def story(home: Path, url: str) -> None:
        where = ("--broker", url, "--timing", "demo")
        run(home, "create", "garden", "--private", "--name", "ann", *where)
        link = run(home, "invite", "garden", "--uses", "1", "--name", "ann", *where).stdout.strip()
        ann = Pipe(home, "garden", "--name", "ann", "--linger", "forever", *where)
        ann.until_event("connection", state="connected")
        joined = run(home, "send", link, "hello", "--name", "bob", *where)
        assert joined.returncode == 0, joined.stderr
        late = run(home, "send", link, "me too", "--name", "carol", *where)
        assert late.returncode == 2, late.stderr
        assert "Others do not show this message: your invite is of no use: the invite was used up" in late.stderr
        late = run(home, "send", "garden", "me too", "--name", "carol", "--wait", "acked", *where)
        assert late.returncode == 2, late.stderr
        assert "You are no member of garden" in late.stderr
        ann.kill(signal.SIGTERM)

    beside_mosquitto(tmp_path, story)


def test_who_joins_while_nobody_is_there_is_told_that_nobody_answered(tmp_path: Path) -> None:
    def story(home: Path, url: str) -> None:
        where = ("--broker", url, "--timing", "demo")
        run(home, "create", "garden", "--private", "--name", "ann", *where)
        link = run(home, "invite", "garden", "--name", "ann", *where).stdout.strip()
        assert run(home, "send", link, "hello", "--name", "carol", *where).returncode == 0
        with_carol = Pipe(home, "garden", "--name", "carol", "--linger", "forever", *where)
        with_carol.until_event("connection", state="connected")
        removed = run(home, "remove", "garden", "carol", "--name", "ann", *where)
        assert removed.returncode == 0, removed.stderr
        with_carol.kill(signal.SIGTERM)
        link = run(home, "invite", "garden", "--name", "ann", *where).stdout.strip()
        alone = run(home, "send", link, "hello", "--name", "bob", *where)
        assert alone.returncode == 0, alone.stderr
        assert "no member answered yet" in alone.stderr

    beside_mosquitto(tmp_path, story)


def test_who_sends_by_an_invite_from_before_a_removal_is_refused_though_no_member_gives_it_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        announcements(monkeypatch)
        async with world(tmp_path) as here:
            link = (await without_carol(here)).link
            dora = here.start("dora", link)
            order = send._Order(link, "may I?", "sent", PATIENCE, False, "", False, "dora")
            with pytest.raises(CommandProblem, match="before the key of the channel was changed"):
                await send._Sending(dora.node, order).run()

    asyncio.run(story())


def forms(text: str) -> list[bytes]:
    """Return a text as somebody might find it in a packet: plain, in hex, base64 or base32; an id also as its bytes."""
    plain = text.encode()
    found = [plain]
    if set(text) <= set("0123456789abcdef") and len(text) % 2 == 0:
        found.append(bytes.fromhex(text))
    coded = [coder(each) for each in found for coder in (b64encode, urlsafe_b64encode, b32encode)]
    lower = [each.lower() for each in coded]
    # The last character of a code without its padding depends on what follows.
    return [*found, plain.hex().encode(), *(each.rstrip(b"=")[:-1] for each in coded + lower)]


def test_every_form_of_a_secret_is_looked_for() -> None:
    secret = "annabel"
    hidden = (
        b"to annabel!",
        b"616e6e6162656c",
        b32encode(b"annabel"),
        b64encode(b"annabel"),
        b64encode(b"annabel, bob"),
    )
    assert all(any(form in passed for form in forms(secret)) for passed in hidden)
    assert bytes.fromhex("ab" * 16) in forms("ab" * 16)


def test_nothing_that_was_used_is_in_a_topic_or_a_payload(tmp_path: Path) -> None:
    """Listens as `mosquitto_sub -t '#' -v` where that is installed, and with a client of our own."""

    async def scenario() -> None:
        async with Mosquitto(tmp_path) as broker, connected(quick(broker.url), "#") as (_, seen):
            listener = shutil.which("mosquitto_sub")
            other = listener and subprocess.Popen(
                [listener, "-p", str(broker.port), "-t", "#", "-v"], stdout=subprocess.PIPE
            )
            secrets = await asyncio.to_thread(_story, tmp_path, broker.url)
            packets = [each for each in seen.of(Received) if "!echo" not in each.topic]
            passed = b"\n".join(each.topic.encode() + b" " + each.payload for each in packets)
            if other:
                other.terminate()
                heard = other.communicate()[0]
                assert heard.count(b"SDE1") >= 10
                passed += heard
        assert [secret for secret in secrets if any(form in passed for form in forms(secret))] == []
        sizes = {len(each.payload) for each in packets}
        assert all(size in (0, *SIZES) or size % SIZES[-1] == 0 for size in sizes)
        assert {"msg", "who", "sync"} <= {each.topic.split("/")[3] for each in packets}

    asyncio.run(scenario())


def test_a_members_channel_can_be_private_as_well(tmp_path: Path) -> None:
    """Nothing of it is in a topic or a payload."""

    async def scenario() -> None:
        async with Mosquitto(tmp_path) as broker, connected(quick(broker.url), "#") as (_, seen):
            secrets = await asyncio.to_thread(_story_of_members, tmp_path, broker.url)
            packets = [each for each in seen.of(Received) if "!echo" not in each.topic]
        passed = b"\n".join(each.topic.encode() + b" " + each.payload for each in packets)
        assert [secret for secret in secrets if any(form in passed for form in forms(secret))] == []
        assert {"msg", "who", "timber"} <= {each.topic.split("/")[3] for each in packets}

    asyncio.run(scenario())


def _story_of_members(home: Path, broker: str) -> list[str]:
    """Two members who say, change and take back. Return every string that was used."""
    shared = ("--broker", broker, "--timing", "demo")
    made = run(home, "create", "garden", "--private", "--members", "--name", "annabel", *shared)
    link = made.stdout.strip()
    refused = run(home, "store", link)
    assert refused.returncode == 2
    assert "members' channel" in refused.stderr
    with contextlib.ExitStack() as stack:
        ann = Pipe(home, "garden", "--json-input", "--name", "annabel", *shared)
        bob = Pipe(home, link, "--json-input", "--name", "bartholomew", "--timing", "demo")
        stack.callback(ann.kill, signal.SIGKILL)
        stack.callback(bob.kill, signal.SIGKILL)
        ann.until_event("knock")
        guest = next(line["sender_id"] for line in ann.lines if line["event"] == "knock")
        ann.say(json.dumps({"invite": guest}))
        bob.until_event("member", sender_id=guest, status="member")
        bob.say(json.dumps({"say": "the treasure is under the oak"}))
        ann.until(lambda lines: ann.texts(lines) == ["the treasure is under the oak"], "bob said nothing")
        post = next(line["message"]["message_id"] for line in ann.lines if line["event"] == "delivered")
        bob.say(json.dumps({"edit": post, "text": "there is no jewellery"}))
        ann.until_event("edited", message_id=post)
        used = [line for each in (ann, bob) for line in each.lines]
    assert "there is no jewellery" in run(home, "log", "garden", "--name", "bartholomew").stdout
    assert json.loads(run(home, "inspect", "garden", "--json", "--name", "annabel").stdout)["private"]["epoch"] == 1
    assert "private" in run(home, "timber", "status", "garden", "--name", "annabel").stdout
    assert run(home, "remove", "garden", "bartholomew", "--yes", "--name", "annabel", *shared).returncode == 0
    status = json.loads(run(home, "timber", "status", "garden", "--json", "--name", "annabel").stdout)
    assert status["private"]["epoch"] == 2
    ids = {
        word
        for word in json.dumps(used).replace('"', " ").split()
        if len(word) in (32, 64) and set(word) <= set("0123456789abcdef")
    }
    return ["garden", "annabel", "bartholomew", "treasure", "jewellery", used[0]["channel"], link[8:40], *ids]


def _story(home: Path, broker: str) -> list[str]:
    """Three members, a Store, a direct message and a joiner. Return every string that was used."""
    shared = ("--broker", broker, "--timing", "demo")
    link = run(home, "create", "garden", "--private", "--name", "annabel", *shared).stdout.strip()
    with contextlib.ExitStack() as stack:
        ann, bob = Pipe(home, "garden", "--name", "annabel", *shared), Pipe(home, link, "--name", "bartholomew")
        stack.callback(ann.kill, signal.SIGKILL)
        stack.callback(bob.kill, signal.SIGKILL)
        store = subprocess.Popen(
            command("store", link),
            cwd=home,
            env=environment(home),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        stack.callback(store.communicate)
        stack.callback(store.kill)
        for each in (ann, bob):
            each.until(lambda lines: any(len(line.get("members", ())) == 3 for line in lines), "not three members")
        ann.say("the treasure is under the oak")
        bob.until(lambda lines: "the treasure is under the oak" in bob.texts(lines), "bob heard nothing")
        joined = run(home, "send", link, "here I am", "--name", "carolina", "--wait", "acked")
        assert joined.returncode == 0, joined.stderr
        sent = run(home, "send", "garden", "for you alone", "--to", "annabel", "--name", "carolina", "--wait", "acked")
        assert sent.returncode == 0, sent.stderr
        ann.until_event("direct")
        used = [line for each in (ann, bob) for line in each.lines]
    text = json.dumps(used)
    ids = {
        word
        for word in text.replace('"', " ").split()
        if len(word) in (32, 64) and set(word) <= set("0123456789abcdef")
    }
    assert len(ids) > 6
    words = ["garden", "annabel", "bartholomew", "carolina", "treasure", "alone", "here I am", "joined", "store"]
    name = next(line["channel"] for line in used)
    return [*words[:-1], name, link[8:40], *ids]


def test_a_removed_member_is_told_and_reads_nothing_more(tmp_path: Path) -> None:
    beside_mosquitto(tmp_path, _removal)


def _removal(home: Path, broker: str) -> None:
    link = run(home, "create", "garden", "--private", "--name", "ann", "--broker", broker).stdout.strip()
    with contextlib.ExitStack() as stack:
        bob, carol = Pipe(home, link, "--name", "bob"), Pipe(home, link, "--name", "carol", "--linger", "forever")
        for each in (bob, carol):
            stack.callback(each.kill, signal.SIGKILL)
            each.until_event("connection", state="connected")
        bob.say("hello")
        carol.until(lambda lines: "hello" in carol.texts(lines), "carol heard nothing")
        bob.kill(signal.SIGINT)
        begun = time.monotonic()
        forbidden = run(home, "remove", "garden", "zoe", "--name", "bob", "--timing", "demo")
        assert forbidden.returncode == 2
        assert "you are a member without rights" in forbidden.stderr
        assert time.monotonic() - begun < 8, "it looks for zoe first"
        bob = Pipe(home, "garden", "--name", "bob")
        stack.callback(bob.kill, signal.SIGKILL)
        bob.until_event("connection", state="connected")
        # Ann was away while they joined: she hears of carol's joining when she comes.
        removed = run(home, "remove", "garden", "carol", "--name", "ann", "--timing", "demo")
        assert removed.returncode == 0, removed.stderr
        carol.until_event("not_a_member")
        bob.until_event("epoch_changed", number=2)
        assert run(home, "send", "garden", "for bob", "--name", "ann").returncode == 0
        bob.until(lambda lines: "for bob" in bob.texts(lines), "bob heard nothing")
        carol.say("still here?")
        refused = run(home, "send", link, "may I?", "--name", "dora", "--timing", "demo", "--timeout", "5s")
        assert refused.returncode == 2
        assert "before the key of the channel was changed" in refused.stderr
        assert "for bob" not in carol.texts()
        assert "still here?" not in bob.texts()
        assert "may I?" not in bob.texts()
    known = run(home, "channels", "--name", "bob", "--json")
    assert (json.loads(known.stdout)["private"], json.loads(known.stdout)["epoch"]) == (True, 2)
    assert json.loads(known.stdout)["standing"] == "member"
    assert "removed" not in run(home, "inspect", "garden", "--name", "bob").stdout
    _is_removed(home, "carol")


def _is_removed(home: Path, name: str) -> None:
    """Check that the program of a removed member says so, offline."""
    assert "  you were removed when key 2 was made: " in run(home, "channels", "--name", name).stdout
    listed = json.loads(run(home, "channels", "--name", name, "--json").stdout)
    assert (listed["private"], listed["standing"], listed["removed_in_epoch"]) == (True, "removed", 2)
    assert run(home, "inspect", "garden", "--name", name).stdout.startswith("you were removed when key 2 was made: ")
    told = json.loads(run(home, "inspect", "garden", "--name", name, "--json").stdout)["private"]
    assert (told["standing"], told["removed_in_epoch"]) == ("removed", 2)


def test_a_tap_with_a_link_records_what_is_said_opened(tmp_path: Path) -> None:
    beside_mosquitto(tmp_path, _tap)


def test_a_tap_by_the_full_name_of_a_private_channel_would_record_nothing_and_is_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, "tap", "garden~abcdef", "--to", "tap")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "an invite to it has to stand in its place" in refused.stderr


def _tap(home: Path, broker: str) -> None:
    link = run(home, "create", "garden", "--private", "--name", "ann", "--broker", broker).stdout.strip()
    arguments = command("tap", link, "--to", "tap")
    with contextlib.ExitStack() as stack:
        tap = subprocess.Popen(arguments, cwd=home, env=environment(home), stderr=subprocess.PIPE)
        stack.callback(tap.communicate)
        stack.callback(tap.kill)
        assert tap.stderr is not None
        while b"recording from" not in (line := tap.stderr.readline()):
            assert line, "it ended"
        sent = run(home, "send", "garden", "under the oak", "--name", "ann", "--wait", "sent")
        assert sent.returncode == 0, sent.stderr
        tap.send_signal(signal.SIGINT)
        assert b" in 1 segment in " in tap.communicate(timeout=30)[1]
    lines = [line for path in (home / "tap").glob("*.jsonl") for line in path.read_text().splitlines()]
    packets = [b64decode(json.loads(line)["raw"]) for line in lines]
    assert any(b"under the oak" in packet for packet in packets)
    assert not any(packet.startswith(b"SDE1") for packet in packets)
