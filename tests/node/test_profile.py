"""Tests of the paths of a profile's files."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from sdschat.node.events import MessageDelivered, TroubleMet
from sdschat.node.profile import ProfileError, database_path
from sdschat.store.reader import Reader
from sdschat.wire.sds_codec import SdsCodec
from tests.node.worlds import world


@pytest.mark.parametrize("name", ["", "  ", ".", "..", "x" * 300])
def test_names_that_no_profile_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProfileError):
        database_path(tmp_path, name)


@pytest.mark.parametrize("name", ["../../etc", "a/b", "c:\\d", "späti\n", ".hidden"])
def test_any_other_name_is_one_folder_of_its_own(tmp_path: Path, name: str) -> None:
    path = database_path(tmp_path, name)
    assert path.parent.parent == tmp_path / "profiles"


def test_a_text_that_the_disk_altered_is_read_from_its_packet_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            ann.node.send("lobby", "unaltered")
            await ann.until(MessageDelivered)
            await ann.node.close(0.1)
            database = sqlite3.connect(w.path("ann"))
            database.execute("UPDATE text SET text = 'altered'")
            database.commit()
            database.close()
            again = w.start("ann")
            assert "text was altered" in (await again.until(TroubleMet)).detail
            with Reader.open(w.path("ann"), SdsCodec()) as reader:
                assert [message.text for message in reader.messages("lobby")] == ["unaltered"]

    asyncio.run(story())
