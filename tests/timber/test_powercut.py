"""Power cuts while a members' channel is written and compacted: nothing saved is lost, nothing deleted comes back."""

from __future__ import annotations

from pathlib import Path
from random import Random

from sdschat.store.store import Store
from sdschat.timber.values import Now
from tests.needs import needs_module
from tests.store.samples import CODEC
from tests.timber.test_store import POSTS, boot, life_of, save, texts_after

needs_module("apsw")

from tests.store.powercut import Operation, recorded_store, states

LOOKED_AT = 150


def _record(path: Path) -> list[Operation]:
    """Return the operations of the disk in the life of a channel, with a note after each step that was saved."""
    store, record = recorded_store(path, "FULL")
    engine = boot(store, Now(0, 0))
    for at, step in enumerate(life_of(engine)):
        step(Now(at, at))
        save(store, engine)
        record.append(Operation("said", "", at + 1))
    store.close()
    return record


def test_a_power_cut_at_any_operation_loses_nothing_and_brings_nothing_deleted_back(tmp_path: Path) -> None:
    record = _record(tmp_path / "life" / "sdschat.db")
    operations = sum(operation.what != "said" for operation in record)
    keep = max(1, 3 * operations // LOOKED_AT)
    deleted_at = [3 * at + 4 for at in range(POSTS)]
    looked = wiped = 0
    for number, state in enumerate(states(record, Random("timber"), 3)):
        if number // 3 % keep or not state.said:
            continue
        path = tmp_path / str(number) / "sdschat.db"
        path.parent.mkdir(mode=0o700)
        for name, image in state.files.items():
            (path.parent / name).write_bytes(image)
        with Store.open(path, CODEC) as store:
            texts = [view.post.text for view in boot(store, Now(0, 0)).posts()]
            found = next(steps for steps in (state.said, state.said + 1) if texts == texts_after(steps))
            # Without the index of the log: SQLite puts there what its heap held, which here is of other states.
            files = b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name != "sdschat.db-shm")
        gone = [at for at in range(POSTS) if deleted_at[at] <= found]
        assert [at for at in gone if f"gone{at}".encode() in files] == []
        looked += 1
        wiped += bool(gone)
    assert looked >= LOOKED_AT // 2
    assert wiped >= LOOKED_AT // 4
