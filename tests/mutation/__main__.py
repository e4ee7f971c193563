"""The command `python -m tests.mutation --seed N --count 200`."""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.mutation import equivalent, work
from tests.mutation.draw import Mutation, draw
from tests.mutation.killers import Killers
from tests.mutation.record import Record, name_of
from tests.mutation.suites import SUITES, Suite
from tests.mutation.trial import Outcome

ROOT: Final = Path(__file__).resolve().parents[2]
GOAL: Final = 90  # percent


def main(arguments: Sequence[str], root: Path = ROOT, suites: Sequence[Suite] = SUITES) -> int:
    """Run the command. 0: the goal is reached; 1: it is not; 2: used wrongly; 130: stopped."""
    chosen = _parser(suites).parse_args(arguments)
    for ending in (signal.SIGINT, signal.SIGTERM):  # SIGINT may be ignored if a script started this process
        signal.signal(ending, signal.default_int_handler)
    packages = [suite.package for suite in suites if not chosen.only or suite.package.endswith(f"/{chosen.only}")]
    drawn = draw(root, packages, chosen.seed, chosen.count)
    path = chosen.results or root / ".mutation" / f"seed-{chosen.seed}{'-' + chosen.only if chosen.only else ''}.jsonl"
    try:
        reasons = equivalent.load(chosen.list)
        record = Record(path, resume=chosen.resume)
    except (OSError, ValueError) as error:
        print(f"python -m tests.mutation: {error}", file=sys.stderr)
        return 2
    names = {one: name_of(one, (root / one.path).read_bytes()) for one in drawn}
    untried = [one for one in drawn if _is_open(one, names[one], record, reasons, chosen.again)]
    progress = _Progress(len(untried), chosen.jobs)

    def told(mutation: Mutation, outcome: Outcome) -> None:
        record.add(mutation, (root / mutation.path).read_bytes(), outcome)
        print(row(mutation, outcome), progress.done(outcome), flush=True)

    def say(text: str) -> None:
        print(text, flush=True)

    killers = Killers(root / ".mutation" / "killers.txt")
    try:
        work.run(root, suites, untried, chosen.jobs, told, say, killers, chosen.patience)
    except KeyboardInterrupt:
        print(f"Stopped with {progress.left} left; --resume goes on from here.", flush=True)
        return 130
    return _report(drawn, {one: record.outcomes.get(names[one]) for one in drawn}, reasons)


def row(mutation: Mutation, outcome: Outcome) -> str:
    ended = f"killed by {outcome.by}" if outcome.by else outcome.result
    return f"{mutation.path}:{mutation.line}  {mutation.before}  →  {mutation.after}  {ended} ({outcome.seconds:.0f} s)"


def _is_open(mutation: Mutation, name: str, record: Record, reasons: dict[str, str], again: bool) -> bool:
    if equivalent.key(mutation) in reasons:
        return False
    known = record.outcomes.get(name)
    return known is None or (again and known.result != "killed")


def _report(drawn: Sequence[Mutation], outcomes: dict[Mutation, Outcome | None], reasons: dict[str, str]) -> int:
    same = [one for one in drawn if equivalent.key(one) in reasons]
    counted = [(one, outcomes[one]) for one in drawn if one not in same]
    left = [(one, outcome) for one, outcome in counted if outcome is None or outcome.result != "killed"]
    print("\nNot killed:" if left else "\nAll killed.")
    for mutation, outcome in left:
        print(f"{equivalent.key(mutation)}  ({mutation.line}, {outcome.result if outcome else 'not tried'})")
    packages = Counter(one.path.split("/")[1] for one, _ in counted)
    alive = Counter(one.path.split("/")[1] for one, _ in left)
    for package, count in sorted(packages.items()):
        print(f"{package}: {count - alive[package]} of {count} killed")
    killed, total = len(counted) - len(left), len(counted)
    percent = 100 * killed / total if total else 100.0
    print(f"{killed} of {total} killed, {percent:.1f} %; {len(same)} more declared to be equivalent")
    return 0 if percent >= GOAL else 1


class _Progress:
    def __init__(self, count: int, jobs: int) -> None:
        self.left = count
        self._count = count
        self._jobs = jobs
        self._survived = 0
        self._seconds = 0.0

    def done(self, outcome: Outcome) -> str:
        self.left -= 1
        self._survived += outcome.result != "killed"
        tried = self._count - self.left
        self._seconds += outcome.seconds
        minutes = self._seconds / tried * self.left / self._jobs / 60
        return f"[{tried}/{self._count}, {self._survived} not killed, about {minutes:.0f} min left]"


def _parser(suites: Sequence[Suite]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation",
        description="Put small mistakes into a copy of the code, one at a time, and see which the tests do not notice.",
    )
    parser.add_argument("--seed", type=int, required=True, help="the same seed draws the same from the same code")
    parser.add_argument("--count", type=int, default=200, help="how many (200)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (1)")
    parser.add_argument("--patience", type=int, default=4, help="minutes by the clock for each of the five (4)")
    parser.add_argument("--only", choices=[suite.package.split("/")[-1] for suite in suites], help="of one package")
    parser.add_argument("--list", type=Path, default=equivalent.FILE, help="those that are equivalent, with reasons")
    parser.add_argument("--results", type=Path, help="where the results are kept (.mutation/seed-N.jsonl)")
    parser.add_argument("--resume", action="store_true", help="go on with what is kept there")
    parser.add_argument("--again", action="store_true", help="with --resume: try once more what was not killed")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
