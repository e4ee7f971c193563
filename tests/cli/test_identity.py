"""Keys of people: comparing them, and taking one's own to another machine."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

from sdschat.identity.keyfile import load_or_create
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
    with sqlite3.connect(profile(new, "ann") / "sdschat.db") as database:
        ((device,),) = database.execute("SELECT value FROM setting WHERE name = 'device'")
    assert len(device) == 8


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
    nobody = run(tmp_path, "verify", "lobby", "carol", "--name", "ann")
    assert (nobody.returncode, "Nobody known here goes by carol" in nobody.stderr) == (2, True)
