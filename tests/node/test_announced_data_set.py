"""The announcement of a members' channel: which one stands."""

from __future__ import annotations

import itertools
from pathlib import Path

from sdschat.identity.members import DataSet, announce, first_operation, read_announcement
from sdschat.identity.signing import Identity
from sdschat.node.members.announced import AnnouncedDataSet
from sdschat.node.members.saved import create_members
from sdschat.store.store import Store
from sdschat.timber.config import Config
from sdschat.wire.sds_codec import SdsCodec

ANN = Identity(b"a" * 32)


def announcing(folder: Path, published: list[bytes]) -> tuple[AnnouncedDataSet, DataSet, bytes]:
    """Return ann's second announcement of her data set, on a connection, with the first one and its bytes."""
    with Store.open(folder / "sdschat.db", SdsCodec()) as store:
        record = create_members(store, ANN, "garden", Config())
    newest = announce(ANN, "garden", first_operation(record.announcement), [ANN.public_key], 2)
    announced = AnnouncedDataSet(ANN)
    announced.attach("garden", published.append)
    announced.begin(record._replace(announcement=newest), kept=True)
    announced.connected(0)
    older = read_announcement(record.announcement, "garden")
    assert older is not None
    return announced, older, newest


def test_an_older_announcement_that_somebody_sends_again_does_not_stand_for_ours(tmp_path: Path) -> None:
    """A newcomer would ask those for the state who were members then, and are gone."""
    published: list[bytes] = []
    announced, older, newest = announcing(tmp_path, published)
    assert not announced.hear(older, 0)
    announced.advance(1000)
    assert published == [newest]


def test_what_takes_its_place_later_is_followed_by_ours_ever_more_rarely(tmp_path: Path) -> None:
    """Until somebody connected anew, an announcement that was taken away, or an older one, stood there."""
    published: list[bytes] = []
    announced, older, _ = announcing(tmp_path, published)
    announced.advance(1000)
    times = []
    for now in range(2000, 700_000, 100):
        announced.hear(older, now)
        before = len(published)
        announced.advance(now)
        if len(published) > before:
            times.append(now)
    assert times[0] < 2700
    assert [b - a for a, b in itertools.pairwise(times)] == [10_000 << n for n in range(len(times) - 1)]
    assert len(times) == 7


def test_a_member_alone_announces_against_another_data_set(tmp_path: Path) -> None:
    published: list[bytes] = []
    announced, _, newest = announcing(tmp_path, published)
    announced.rivalled(100, is_member=False)
    announced.advance(1000)
    assert published == [], "also on a new connection"
    announced.rivalled(2000, is_member=True)
    announced.advance(3000)
    assert published == [newest]


def test_it_is_not_announced_again_where_somebody_else_did(tmp_path: Path) -> None:
    published: list[bytes] = []
    announced, _, newest = announcing(tmp_path, published)
    announced.advance(1000)
    announced.displaced(20_000)
    again = read_announcement(newest, "garden")
    assert again is not None
    announced.hear(again, 20_100)
    announced.advance(100_000)
    assert published == [newest]
