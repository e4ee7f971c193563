"""A world of which a transcript is kept: a database that is written to in every way, and all that is read from it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from random import Random

from sdschat.catchup import HIGHEST, LOWEST, LogKey
from sdschat.sds.values import WITHOUT_A_BODY, Append, Entry
from sdschat.store import retention, senders
from sdschat.store.archive import ArchiveRange, LogArchive, archived, newest_sizes
from sdschat.store.audit_reader import AuditReader
from sdschat.store.direct import DirectMessages, newest_with
from sdschat.store.display_rows import DirectRow
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.packets import ChannelLog
from sdschat.store.positions import Positions
from sdschat.store.reader import Reader
from sdschat.store.retention_floor import floor_of
from sdschat.store.store import Store
from sdschat.store.user_state import UserState
from tests.store.samples import CODEC, START, Talk, log_row, packet_of
from tests.transcripts import Say, World

CHANNELS = ("lobby", "garden")


class Database:
    """A store with two channels that talk, and a user of it."""

    def __init__(self, say: Say, path: Path, seed: int) -> None:
        self.say = say
        self.path = path
        self.draw = Random(seed)
        self.talks = {name: Talk(name, seed) for name in CHANNELS}
        self.journal = JournalSettings("me", f"boot {seed}", keep_ms=20_000, max_rows=90, checkpoint_every=7)
        self.store = self.open()

    def open(self) -> Store:
        return Store.open(self.path, CODEC, journal=self.journal)

    def write(self, steps: int) -> None:
        for _ in range(steps):
            channel = self.draw.choice(CHANNELS)
            writes, told, said = self.talks[channel].step()
            self.store.commit([(channel, writes)], told, said if self.draw.random() < 0.8 else ())

    def known(self, channel: str) -> list[str]:
        return [message.message_id for message in self.talks[channel].messages]

    def user(self, at: int) -> None:
        """Everything that belongs to the user, and what is known of others."""
        draw = self.draw
        with self.store.transaction() as step:
            channel = draw.choice(CHANNELS)
            step.set_draft(channel, f"unfinished {at}", at)
            step.set_read_mark(channel, at, draw.choice(self.known(channel)), at)
            key = bytes([draw.randrange(5)]) * 32
            step.put_key(key, f"nick {at % 7}", at)
            step.put_nick(f"skeleton {at % 5}", f"nick {at % 7}", key, at)
            step.put_standing(draw.choice(["anna", "bert", "carl", "nobody"]), draw.choice([1, 2, 16, 32, 48]), at)
            step.set_value(f"some.{at % 4}", b"%d" % at)
            step.set_value("other", b"x")
            step.count_refused(channel, draw.choice(["malformed", "duplicate"]), at % 100, at)
            row = DirectRow(
                f"d{at % 6}", draw.choice(["anna", "bert"]), bool(at % 2), "Anna", "hi", 1, at, at + 1, 0, "", "known"
            )
            DirectMessages(self.store, channel).put(step, row)
        if at % 5 == 0:
            with self.store.transaction() as step:
                step.forget_key(bytes([draw.randrange(5)]) * 32)
                step.forget_value(f"some.{draw.randrange(4)}")
                step.forget_standing("nobody", at)

    def ids(self, at: int) -> None:
        """Messages of which only ids are kept, and one that comes in full afterwards."""
        channel = self.draw.choice(CHANNELS)
        message = packet_of(channel, f"stranger {at % 3}", START + at, f"id only {at}")
        row = log_row(message)
        bare = Entry(*row.entry[:3], (), WITHOUT_A_BODY)
        self.store.commit([(channel, [Append(row._replace(entry=bare, raw=b""))])])
        if at % 3 == 0:
            self.store.commit([(channel, [Append(row, bare)])])

    def let_go(self, at: int) -> None:
        """Old packets, and then old ids."""
        channel = self.draw.choice(CHANNELS)
        newest = START + self.talks[channel]._lamport - START
        found: list[object] = [
            retention.drop_oldest(self.store, channel, newest - 4000, 5, at, tuple(self.known(channel)[:2]))
        ]
        found.append(retention.make_compact(self.store, channel, 3))
        found.append(retention.forget_kept_as_ids(self.store, channel, newest, 2, at))
        if at % 2:
            found.append(retention.forget_oldest(self.store, channel, 2, at))
        found.append(self.store.trim_journal(60, 7))
        self.say(at, "goes", *found)

    def read(self, at: int) -> None:
        say, store = self.say, self.store
        say(at, "store", store.channels(), archived(store), newest_sizes(store, 7), senders.count_strangers(store))
        say(at, "senders", sorted(senders.strangers(store)), senders.standings_after(store, 0, 3))
        say(at, "senders", senders.senders_of_ids_after(store, 1, 3), senders.count_values(store, "some."))
        say(at, "values", senders.values_after(store, "some.", "some.1", 2))
        for channel in CHANNELS:
            self.read_channel(at, channel)
        with Reader.open(self.path, CODEC) as reader:
            self.read_shown(at, reader)
        with AuditReader(self.path) as audit:
            say(at, "audit", audit.node(), audit.as_of(), audit.standings(), list(audit.journal()))
            for counts in audit.standings():
                say(at, "audit", list(audit.messages(counts.number)), list(audit.declared(counts.number)))

    def read_channel(self, at: int, channel: str) -> None:
        say, store, history = self.say, self.store, self.store.channel(channel).history
        ids = self.known(channel)
        some = [self.draw.choice(ids) for _ in range(3)]
        middle = self.talks[channel].messages[len(ids) // 2].lamport_timestamp or 0
        say(at, channel, store.channel(channel).snapshot(), store.messages(channel), floor_of(store, channel))
        say(at, channel, history.newest(9), history.before(middle, 4), history.between(middle, middle + 4000, 3))
        say(at, channel, history.recently_added(6), [(history.entry(one), history.row(one)) for one in some])
        archive, packets, log = LogArchive(store), ChannelLog(store, channel), store.log(channel)
        after = (middle, some[0])
        for newest_first in (False, True):
            for limit, size, start in ((3, 10_000, None), (50, 900, after), (50, 10**6, after)):
                say(at, channel, archive.page(channel, ArchiveRange(0, 2**62, start, newest_first, limit, size)))
                say(at, channel, packets.stored(LogKey(middle - 3000, ""), HIGHEST, newest_first, limit, size))
        places = [archive.place_of(channel, one) for one in some]
        say(at, channel, places, [archive.by_id(channel, one) for one in some], [packets.message(one) for one in some])
        say(at, channel, [archive.at(channel, place) for place in places if place])
        say(
            at,
            channel,
            log.summary(LOWEST, HIGHEST),
            log.keys(LogKey(middle, ""), HIGHEST, 3),
            log.cut(LOWEST, HIGHEST, 4),
        )
        direct = DirectMessages(store, channel)
        say(at, channel, direct.newest(), newest_with(store, "anna", 2), direct.one("d1"), sorted(direct.written_to()))
        first, last = senders.log_bounds(store, channel)
        say(at, channel, first, last, senders.bodies_of_strangers(store, first, last, 2))
        number = store.number(channel)
        assert number is not None
        say(at, channel, number, sorted(senders.speakers_after(store, number).senders))

    def read_shown(self, at: int, reader: Reader) -> None:
        say, user, positions = self.say, UserState(reader.connection, self.path), Positions(reader)
        say(at, "user", user.keys(), user.nicks(), user.standings(), user.value("other"), user.values("some."))
        say(at, "user", user.has_channel("lobby"), user.has_channel("nowhere"), reader.channels(), reader.rejections())
        say(at, "journal", list(reader.journal()), list(reader.journal("garden")), reader.rejections("lobby"))
        for channel in CHANNELS:
            ids = self.known(channel)
            middle = self.talks[channel].messages[len(ids) // 2].lamport_timestamp or 0
            key = (middle, ids[len(ids) // 2])
            say(at, channel, user.draft(channel), user.read_mark(channel), user.unread(channel))
            say(at, channel, list(reader.messages(channel)), list(reader.messages(channel, limit=3, before=key)))
            say(
                at, channel, list(reader.messages(channel, limit=3, after=key)), list(reader.messages(channel, limit=0))
            )
            say(at, channel, list(reader.messages(channel, since=middle, until=middle + 2000, with_raw=True)))
            for search in ("river", "river stone", "ri", "anna"):
                say(at, channel, search, list(reader.messages(channel, search=search, limit=4)))
            say(at, channel, list(reader.messages(channel, sender_id="anna", limit=2)))
            say(
                at, channel, [reader.message(channel, one, 3) for one in ids[-3:]], reader.find_ids(channel, ids[0][:2])
            )
            say(at, channel, reader.snapshot(channel), reader.direct(channel, 1), reader.unindexed(channel)[:4])
            say(at, channel, reader.journal_since(channel, middle, 5))
            say(at, channel, positions.count(channel), positions.rank(channel, key[1]), positions.at_rank(channel, 3))
            say(at, channel, positions.dated(channel, middle))


def used(seed: int) -> World:
    def world(say: Say) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = Database(say, Path(folder) / "log.db", seed)
            made.write(30)
            for at in range(1, 25):
                made.write(made.draw.randrange(4))
                made.user(at)
                made.ids(at)
                if at % 4 == 3:
                    made.let_go(at)
                if at % 6 == 0:
                    made.read(at)
                if at % 9 == 0:
                    made.store.close()
                    made.store = made.open()
            made.store.close()

    return world


WORLDS: Mapping[str, World] = {"used": used(1), "again": used(2)}
