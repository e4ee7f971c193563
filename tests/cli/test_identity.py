"""Keys of people: comparing them, and taking one's own to another machine."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from sdschat.cli import program
from sdschat.cli.errors import refuse_files
from sdschat.identity.backup import open_identity
from sdschat.identity.keyfile import load_or_create
from sdschat.node.private.links import enter
from sdschat.node.profile import last_nick
from sdschat.store.store import Store
from tests.cli.processes import run
from tests.wire.samples import CODEC

PASSPHRASE = {"SDSCHAT_PASSPHRASE": "six words would be better"}


def profile(home: Path, name: str) -> Path:
    return home / "data" / "sdschat" / "profiles" / name


def test_a_key_goes_to_another_machine_and_is_a_new_device_there(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    assert run(old, "create", "garden", "--private", "--name", "ann").returncode == 0
    kept = old / "ann.key"
    assert run(old, "export-identity", str(kept), "--name", "ann", env=PASSPHRASE).returncode == 0
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    again = run(old, "export-identity", str(kept), "--name", "ann", env=PASSPHRASE)
    assert (again.returncode, "there already" in again.stderr) == (2, True)
    wrong = run(new, "import-identity", str(kept), "--name", "ann", env={"SDSCHAT_PASSPHRASE": "another one"})
    assert (wrong.returncode, "does not open" in wrong.stderr) == (5, True)
    done = run(new, "import-identity", str(kept), "--name", "ann", env=PASSPHRASE)
    assert done.returncode == 0, done.stderr
    keys = [load_or_create(profile(home, "ann")).public_key for home in (old, new)]
    assert keys[0] == keys[1]
    with closing(sqlite3.connect(profile(new, "ann") / "sdschat.db")) as database, database:
        ((device,),) = database.execute("SELECT value FROM setting WHERE name = 'device'")
    assert len(device) == 8


def test_whoever_moves_is_the_same_person_under_the_same_nick_without_naming_it_again(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    assert run(old, "create", "garden", "--private", "--name", "ann").returncode == 0
    kept = str(old / "ann.key")
    assert run(old, "export-identity", kept, "--profile", "ann", env=PASSPHRASE).returncode == 0
    done = run(new, "import-identity", kept, env=PASSPHRASE)
    assert "The profile ann has the key" in done.stderr
    assert load_or_create(profile(new, "ann")).public_key == load_or_create(profile(old, "ann")).public_key
    assert last_nick(profile(new, "ann") / "sdschat.db") == "ann"
    laptop = run(new, "import-identity", kept, "--profile", "laptop", env=PASSPHRASE)
    assert laptop.returncode == 0, laptop.stderr
    assert last_nick(profile(new, "laptop") / "sdschat.db") == "ann"
    other = run(new, "import-identity", kept, "--name", "zoe", env=PASSPHRASE)
    assert "The profile zoe has the key" in other.stderr


def test_words_are_the_same_on_both_sides_and_a_verified_key_is_remembered(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        assert run(tmp_path, "create", name, "--private", "--name", name).returncode == 0
    keys = {name: load_or_create(profile(tmp_path, name)).public_key for name in ("ann", "bob")}
    for name, other in (("ann", "bob"), ("bob", "ann")):
        with Store.open(profile(tmp_path, name) / "sdschat.db", CODEC) as store, store.transaction() as transaction:
            transaction.put_key(keys[other], other, 1)
            transaction.set_draft("lobby", "", 1)  # the channel is known
    one = run(tmp_path, "verify", "lobby", "bob", "--name", "ann")
    back = run(tmp_path, "verify", "lobby", "ann", "--name", "bob")
    assert len(one.stdout.split()) == 6, one.stderr
    assert one.stdout == back.stdout
    assert run(tmp_path, "verify", "--name", "ann").stdout == ""
    assert run(tmp_path, "verify", "lobby", "bob", "--name", "ann", "--confirm").returncode == 0
    assert run(tmp_path, "verify", "--name", "ann").stdout.startswith("bob ")
    assert run(tmp_path, "verify", "lobby", "BOB", "--name", "ann").stdout == one.stdout, "as in a search: any case"
    nobody = run(tmp_path, "verify", "lobby", "carol", "--name", "ann")
    assert (nobody.returncode, "goes by carol. Known are: bob." in nobody.stderr) == (2, True)


def test_the_names_of_private_channels_go_along_and_open_no_open_channel(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    assert run(old, "create", "garden", "--private", "--name", "ann").returncode == 0
    link = run(old, "invite", "garden", "--name", "ann").stdout.strip()
    kept = str(old / "ann.key")
    assert run(old, "export-identity", kept, "--name", "ann", env=PASSPHRASE).returncode == 0
    done = run(new, "import-identity", kept, "--profile", "laptop", "--name", "ann", env=PASSPHRASE)
    assert "It was in garden~" in done.stderr
    refused = run(new, "send", "garden", "a secret", "--profile", "laptop", "--broker", "mqtt://127.0.0.1:1")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "Without an invite garden would be an open channel" in refused.stderr
    with Store.open(profile(new, "laptop") / "sdschat.db", CODEC) as store:
        assert enter(store, "gardens", 1) == "gardens"
        assert enter(store, link, 1).startswith("garden~")
        assert enter(store, "garden", 1).startswith("garden~")
    again = str(new / "again.key")
    assert run(new, "export-identity", again, "--profile", "laptop", env=PASSPHRASE).returncode == 0
    assert open_identity(Path(again).read_text(), PASSPHRASE["SDSCHAT_PASSPHRASE"]).private_channels != ()


def test_an_imported_key_keeps_the_nick_that_it_was_given(tmp_path: Path) -> None:
    assert run(tmp_path, "create", "garden", "--private", "--name", "ann").returncode == 0
    kept = str(tmp_path / "ann.key")
    assert run(tmp_path, "export-identity", kept, "--name", "ann", env=PASSPHRASE).returncode == 0
    assert (
        run(tmp_path, "import-identity", kept, "--profile", "laptop", "--name", "ann", env=PASSPHRASE).returncode == 0
    )
    with Store.open(profile(tmp_path, "laptop") / "sdschat.db", CODEC) as store:
        ((_, nick, _),) = store.keys()
    assert nick == "ann"


def test_an_invite_is_no_identity_and_an_identity_is_no_channel(tmp_path: Path) -> None:
    link = run(tmp_path, "create", "garden", "--private", "--name", "ann").stdout.strip()
    files = {name: tmp_path / name for name in ("ann.key", "invite.txt")}
    assert run(tmp_path, "export-identity", str(files["ann.key"]), "--name", "ann", env=PASSPHRASE).returncode == 0
    files["invite.txt"].write_text(f"{link}\n")
    nowhere = ("--broker", "mqtt://127.0.0.1:1")
    for asked, answer in (
        (("import-identity", link), "This is an invite to a private channel"),
        (("import-identity", str(files["invite.txt"])), "This is an invite to a private channel"),
        (("import-identity", str(tmp_path / "none")), "cannot be read: No such file"),
        (("join", "--plain", str(files["ann.key"]), *nowhere), "is an exported identity, and no channel"),
        (("send", files["ann.key"].read_text(), "hello", *nowhere), "This is an exported identity, and no channel"),
        (("send", str(files["invite.txt"]), "hello", *nowhere), "is a file that holds an invite"),
    ):
        found = run(tmp_path, *asked, "--name", "bob", env=PASSPHRASE)
        assert (found.returncode, answer in found.stderr) == (2, True), found.stderr
        assert link not in found.stderr
        assert len(found.stderr.splitlines()) == 1
    assert not profile(tmp_path, "bob").exists()


def test_a_named_pipe_that_is_called_like_a_channel_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of all, such as /tmp, anybody can put one there."""
    os.mkfifo(tmp_path / "lobby")
    monkeypatch.chdir(tmp_path)
    writer = os.open("lobby", os.O_RDWR)  # so that what reads it ends, with what is refused
    os.write(writer, b"sdschat:".ljust(100))
    try:
        refuse_files("lobby")
    finally:
        os.close(writer)


def test_the_name_of_another_profiles_private_channel_sends_nothing_in_clear(tmp_path: Path) -> None:
    """A wrong --name would say to everybody what is meant for few."""
    assert run(tmp_path, "create", "garden", "--private", "--name", "ann").returncode == 0
    sent = run(tmp_path, "send", "garden", "the gate code", "--name", "an")
    assert sent.returncode == 2
    assert "is a private channel of your profile ann, and an is not in it." in sent.stderr
    joined = run(tmp_path, "join", "--plain", "garden", "--name", "an", "--broker", "mqtt://127.0.0.1:9")
    assert (joined.returncode, "is a private channel of your profile ann" in joined.stderr) == (2, True)
    piped = run(tmp_path, "pipe", "garden", "--name", "an")
    assert (piped.returncode, piped.stdout) == (2, "")
    with Store.open(profile(tmp_path, "an") / "sdschat.db", CODEC) as store, store.transaction() as transaction:
        transaction.set_draft("garden", "joined before", 1)
    meant = run(tmp_path, "send", "garden", "hello", "--name", "an", "--broker", "mqtt://127.0.0.1:9")
    assert "private channel" not in meant.stderr


def test_where_the_profile_is_in_use_it_is_named_before_others_in_the_private_channel(tmp_path: Path) -> None:
    link = run(tmp_path, "create", "garden", "--private", "--name", "bob").stdout.strip()
    for name in ("ann", "carol", "dan", "eve", "fay", "bob"):
        with Store.open(profile(tmp_path, name) / "sdschat.db", CODEC) as store:
            enter(store, link, 0)
    with Store.open(profile(tmp_path, "bob") / "sdschat.db", CODEC):
        done = run(tmp_path, "join", "--plain", "garden", "--name", "bob", "--broker", "mqtt://127.0.0.1:9")
    assert "is a private channel of your profile bob, and bob-2 is not in it" in done.stderr


def test_a_key_that_could_not_be_written_whole_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load_or_create(tmp_path / "profiles" / "ann")
    monkeypatch.setenv(*next(iter(PASSPHRASE.items())))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    code = program.run(["export-identity", str(tmp_path / "ann.key"), "--name", "ann", "--data-dir", str(tmp_path)])
    assert (code, "No space left on device. Choose another place" in capsys.readouterr().err) == (2, True)
    assert not (tmp_path / "ann.key").exists()


@pytest.mark.parametrize(
    "asked",
    [
        ("send", "lobby", "hello", "--broker", "mqtt://127.0.0.1:1"),
        ("create", "garden", "--private"),
        ("create", "garden", "--members"),
    ],
)
def test_a_key_that_is_gone_is_told_where_a_new_one_is_made_for_its_profile(
    asked: tuple[str, ...], tmp_path: Path
) -> None:
    """One went on as somebody else without a word."""
    asked = (*asked, "--name", "ann")
    assert "was gone" not in run(tmp_path, *asked).stderr
    (profile(tmp_path, "ann") / "identity.key").unlink()
    asked = (asked[0], "other", *asked[2:])
    assert "The key of this profile was gone, so a new one was made" in run(tmp_path, *asked).stderr
    assert "was gone" not in run(tmp_path, *asked).stderr


def test_the_nick_of_a_later_start_is_kept_where_nothing_is_said(tmp_path: Path) -> None:
    """`log` and `timber status` went on with that of the first one."""
    nowhere = ("pipe", "lobby", "--profile", "ann", "--broker", "mqtt://127.0.0.1:1")
    for name in ("ann", "anna"):
        run(tmp_path, *nowhere, "--name", name)
        assert last_nick(profile(tmp_path, "ann") / "sdschat.db") == name
    made = run(tmp_path, "create", "garden", "--private", "--profile", "ann")
    assert "anna is its creator" in made.stderr
    assert last_nick(profile(tmp_path, "ann") / "sdschat.db") == "anna", "no nick was given"
