"""Print Timber beside other replicated logs, on the same posts in the same run: `python -m tests.timber.bench`.

Peers by pip: `pip install loro pycrdt y-py`, in any folder on PYTHONPATH; by npm: `npm install --prefix
tests/timber/bench`. A peer that is missing is named and left out. Times are of the processor, so that other programs on
the machine count little.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from tests.timber.bench import committee, npm, ours, replicas
from tests.timber.bench.posts import Figures, sample

NPM_MOST = {"Automerge": 10_000, "Autobase": 10_000}  # they take minutes for more
HEAD = "| peer | posts | append, merge | exchanged | at 10 % | at 99 % | deleted texts found | writer who was away |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.timber.bench", description=__doc__)
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--committee", action="store_true", help="only the cost of an operation by members")
    chosen = parser.parse_args()
    if not chosen.committee:
        print(HEAD)
        print("|" + "---|" * (HEAD.count("|") - 1))
        notes = show(ours.measure(sample(chosen.posts)))
        if not chosen.without_peers:
            notes += peers(chosen.posts)
        print(*notes, sep="\n", end="\n\n")
    print("| members | an operation, five of them writing | an operation, all writing in turn |\n|---|---|---|")
    print(*committee.lines(), sep="\n")


def peers(count: int) -> list[str]:
    """Print the row of each peer. Return what is to be said below."""
    notes = []
    for name, (package, make) in replicas.PEERS.items():
        if find_spec(package.replace("-", "_")) is None:
            notes.append(f"{name}: not measured; pip install {package}")
        else:
            notes += show(replicas.measure(name, make, sample(count)))
    for name, most in NPM_MOST.items():
        if missing := npm.missing():
            notes.append(f"{name}: not measured; {missing}")
        else:
            notes += show(npm.measure(name, sample(min(count, most))))
    return notes


def show(one: Figures) -> list[str]:
    """Print a row."""
    if one.stored:
        stored = " | ".join(f"{ratio:.2f}" for ratio in one.stored.values())
        found = ", ".join(one.found.values())
        times = f"{one.append:.1f} s, {one.merge:.1f} s"
        exchanged = f"{one.exchanged / 1e6:.1f} MB"
        print(f"| {one.peer} | {one.posts:,} | {times} | {exchanged} | {stored} | {found} | {one.away} |", flush=True)
    return [f"{one.peer}: {note}" for note in one.notes]


if __name__ == "__main__":
    main()
