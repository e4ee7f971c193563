"""Ingest of sources into bronze. A row that is in the lake already is not added again, from whatever copy it comes.

A first survey finds the files whose rows could be in the lake already. All others are written as they are read; only
the rest is compared row by row. An ingest that was killed and is started again loses nothing and doubles nothing: it
asks the lake itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sdschat.audit.schemas import Journal, Packet, Quarantine, Whole, ddl
from sdschat.pipeline.intake import Added, Intake
from sdschat.pipeline.known import known_stretches, taken_already, wholes
from sdschat.pipeline.lake import Lake
from sdschat.pipeline.logs import take_logs
from sdschat.pipeline.refused import maybe_mended, refuse, standing, standing_files, stands_in_for

if TYPE_CHECKING:
    from sdschat.pipeline.sources.survey import Seen


def ingest(lake: Lake, paths: Sequence[Path], run_id: str, read_ms: int) -> list[Added]:
    """Ingest the files. Raises PipelineProblem while another ingest runs."""
    with lake.alone():
        return _ingest(lake, paths, run_id, read_ms)


def _ingest(lake: Lake, paths: Sequence[Path], run_id: str, read_ms: int) -> list[Added]:
    from sdschat.pipeline.sources.survey import survey

    taken = wholes(lake, run_id)
    seen = survey(lake.spark, map(str, paths), {whole.digest for whole in taken})
    bad = standing_files(lake, run_id)
    # A repaired file may equal the file that was ingested before the damage.
    known = taken_already(seen, taken) - maybe_mended(seen, bad)
    files = [file for file in seen if file.path not in known]
    again = [file for file in seen if file.path in known and any(stands_in_for(file, each) for each in bad)]
    intake = Intake(lake, run_id, read_ms)
    if files or again:
        _take_journals(intake, files)
        take_logs(intake, files)
        _remember(intake, [*files, *again])
        refuse(intake, files)  # last, because it matters if a damaged file came together with a sound copy
    return [Added("file", len(seen), len(files)), *intake.added()]


def quarantined(lake: Lake, paths: Sequence[Path]) -> list[Quarantine]:
    """Return the parts of these files that could not be read, now or earlier, and were not repaired since."""
    rows = standing(lake)
    if rows is None:
        return []
    of_these = rows.where(rows["source"].isin([str(path) for path in paths]))
    return [Quarantine(**row.asDict()) for row in of_these.orderBy("source", "place").collect()]


def _take_journals(intake: Intake, files: Sequence[Seen]) -> None:
    """Ingest the journals before the logs: a database read in between then has no delivery that is not in its log."""
    straight = sole(files, intake.lake, intake.run_id)
    if straight:
        intake.write(Journal, straight)
    others = [file.path for file in files if file.path not in set(straight)]
    intake.odd |= intake.merge(others, (Journal, Packet))


def sole(files: Iterable[Seen], lake: Lake, run_id: str) -> list[str]:
    """Return the files whose events are in no other file of this ingest and not in the lake."""
    told = [file for file in files if file.stretches]
    times = Counter(stretch for file in told for stretch in file.stretches)
    known = known_stretches(lake, run_id, times)
    return [file.path for file in told if all(times[each] == 1 and each not in known for each in file.stretches)]


def _remember(intake: Intake, files: Sequence[Seen]) -> None:
    """Record the files whose whole content is in the lake now. A file written to in the meantime is left out."""
    from sdschat.pipeline.sources.survey import stamps

    now = stamps(intake.lake.spark, [file.path for file in files])
    whole = [
        Whole(intake.run_id, file.digest, file.node, file.as_of, intake.read_ms, file.path)
        for file in files
        if file.digest and file.path not in intake.odd and now.get(file.path) == file.stamp
    ]
    if whole:
        intake.lake.append(Whole, intake.lake.spark.createDataFrame(whole, ddl(Whole)))
