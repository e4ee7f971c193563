"""Loro and Yrs (by pycrdt and by y-py), each as a list of texts that two replicas append to, merge and delete from."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from tests.timber.bench.posts import AWAY, AWAY_AMONG, ROUND, Figures, Sample, fate, found_in


class ListReplica(Protocol):
    """One replica of a list of texts."""

    def append(self, text: str) -> None: ...

    def news(self, other: Any) -> bytes:
        """Return what `other` lacks."""

    def merge(self, raw: bytes) -> None: ...

    def delete(self, first: int, count: int) -> None: ...

    def compacted(self) -> bytes:
        """Return the smallest bytes from which `opened` can go on."""

    def opened(self, raw: bytes) -> Any: ...

    def texts(self) -> list[str]: ...


class Loro:
    def __init__(self) -> None:
        self.loro = importlib.import_module("loro")
        self.doc = self.loro.LoroDoc()
        self.list = self.doc.get_list("posts")

    def append(self, text: str) -> None:
        self.list.push(text)
        self.doc.commit()

    def news(self, other: Loro) -> bytes:
        return bytes(self.doc.export(self.loro.ExportMode.Updates(other.doc.oplog_vv)))

    def merge(self, raw: bytes) -> None:
        try:
            self.doc.import_(raw)
        except BaseException as error:  # the type of its errors is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            raise ValueError(str(error)) from error

    def delete(self, first: int, count: int) -> None:
        self.list.delete(first, count)
        self.doc.commit()

    def compacted(self) -> bytes:
        return bytes(self.doc.export(self.loro.ExportMode.ShallowSnapshot(self.doc.oplog_frontiers)))

    def opened(self, raw: bytes) -> Loro:
        one = Loro()
        one.merge(raw)
        return one

    def texts(self) -> list[str]:
        return list(self.list.get_deep_value())


class Pycrdt:
    def __init__(self) -> None:
        self.module = importlib.import_module("pycrdt")
        self.doc = self.module.Doc()
        self.list = self.doc.get("posts", type=self.module.Array)

    def append(self, text: str) -> None:
        self.list.append(text)

    def news(self, other: Pycrdt) -> bytes:
        return bytes(self.doc.get_update(other.doc.get_state()))

    def merge(self, raw: bytes) -> None:
        self.doc.apply_update(raw)

    def delete(self, first: int, count: int) -> None:
        del self.list[first : first + count]

    def compacted(self) -> bytes:
        return bytes(self.doc.get_update())

    def opened(self, raw: bytes) -> Pycrdt:
        one = Pycrdt()
        one.merge(raw)
        return one

    def texts(self) -> list[str]:
        return list(self.list.to_py())


class YPy:
    def __init__(self) -> None:
        self.module = importlib.import_module("y_py")
        self.doc = self.module.YDoc()
        self.list = self.doc.get_array("posts")

    def append(self, text: str) -> None:
        with self.doc.begin_transaction() as step:
            self.list.append(step, text)

    def news(self, other: YPy) -> bytes:
        state = self.module.encode_state_vector(other.doc)
        return bytes(self.module.encode_state_as_update(self.doc, state))

    def merge(self, raw: bytes) -> None:
        self.module.apply_update(self.doc, raw)

    def delete(self, first: int, count: int) -> None:
        with self.doc.begin_transaction() as step:
            self.list.delete_range(step, first, count)

    def compacted(self) -> bytes:
        return bytes(self.module.encode_state_as_update(self.doc))

    def opened(self, raw: bytes) -> YPy:
        one = YPy()
        one.merge(raw)
        return one

    def texts(self) -> list[str]:
        return list(self.list)


PEERS: Final[dict[str, tuple[str, Callable[[], ListReplica]]]] = {
    "Loro, shallow snapshot": ("loro", Loro),
    "Yrs (pycrdt)": ("pycrdt", Pycrdt),
    "Yrs (y-py)": ("y-py", YPy),
}


def spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return (first, count) of numbers that follow one another, the last first."""
    found: list[tuple[int, int]] = []
    for number in sorted(numbers, reverse=True):
        if found and number == found[-1][0] - 1:
            found[-1] = (number, found[-1][1] + 1)
        else:
            found.append((number, 1))
    return found


def measure(name: str, make: Callable[[], ListReplica], posts: Sample) -> Figures:
    figures = Figures(name, len(posts.texts))
    writers = (make(), make())
    for start in range(0, len(posts.texts), ROUND):
        one, other = writers[start // ROUND % 2], writers[1 - start // ROUND % 2]
        began = time.process_time()
        for text in posts.texts[start : start + ROUND]:
            one.append(text)
        appended = time.process_time()
        raw = one.news(other)
        other.merge(raw)
        figures.append += appended - began
        figures.merge += time.process_time() - appended
        figures.exchanged += len(raw)
    place = {at: at for at in range(len(posts.texts))}
    for share, gone in posts.deleted.items():
        for first, count in spans(place[at] for at in gone if at in place):
            writers[0].delete(first, count)
        left = sorted(set(range(len(posts.texts))) - set(gone))
        place = {at: now for now, at in enumerate(left)}
        raw = writers[0].news(writers[1])
        writers[1].merge(raw)
        kept = writers[0].compacted()
        if writers[0].texts() != [posts.texts[at] for at in left]:
            figures.notes.append(f"holds other posts than it should at {share} %")
        figures.stored[share] = len(kept) / posts.alive_bytes(share)
        figures.found[share] = found_in(posts.searched(share), kept)
    figures.away = offline(make, posts)
    return figures


def offline(make: Callable[[], ListReplica], posts: Sample) -> str:
    """Let a writer write while half of the posts are deleted and the others compact; then let it come back."""
    texts = posts.texts[:AWAY_AMONG]
    here, away = make(), make()
    for text in texts:
        here.append(text)
    away.merge(here.news(away))
    wanted = [f"written while away {number}" for number in range(AWAY)]
    for text in wanted:
        away.append(text)
    gone = range(0, len(texts), 2)
    for first, count in spans(gone):
        here.delete(first, count)
    again = here.opened(here.compacted())
    try:
        again.merge(away.news(again))
    except ValueError as error:
        return f"refused ({str(error).partition(':')[0]}); {fate(wanted, again.texts(), [])}"
    return fate(wanted, again.texts(), [texts[at] for at in gone])
