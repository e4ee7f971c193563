"""The same parts in a folder of this machine: small ones are read and written without a Spark job."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet

from sdschat.pipeline.sources.batch import arrow_schema, table_of
from sdschat.pipeline.sources.part import ParquetPart
from sdschat.pipeline.stream.parts import FOLDER, Counted, CountedParts, Parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME: Final = "part-0.zstd.parquet"


class PartsHere(Parts):
    """The tables of the stream on this machine's disk. A part without rows has no file."""

    def __init__(self, spark: SparkSession, lake: str, folder: Path) -> None:
        super().__init__(spark, lake)
        self._folder = folder / FOLDER

    def there(self, of: type, batch: int) -> bool:
        return next(self._files(of, [batch]), None) is not None

    def rows(self, of: type, batch: int) -> list[Any]:
        found = self._dataset(of, [batch]).to_table()
        return [of(*row) for row in zip(*(column.to_pylist() for column in found.columns), strict=True)]

    def put(self, of: type, batch: int, rows: DataFrame, files: int = 1) -> None:
        self.write(of, batch, rows.select(*of.__annotations__).toArrow().to_batches())

    def keep(self, of: type, batch: int, rows: Sequence[Any]) -> None:
        self.write(of, batch, table_of(of, rows).to_batches())

    def _take_away(self, since: int) -> None:
        """Remove the parts of this batch and of later ones, whether written here or by Spark."""
        tables = self._folder.glob("*/") if self._folder.is_dir() else ()
        for table in sorted(tables, key=lambda path: path.name != Counted.__name__.lower()):
            for part in table.glob("batch=*/"):
                if int(part.name.removeprefix("batch=")) >= since:
                    shutil.rmtree(part)

    def write(self, of: type, batch: int, rows: Collection[pyarrow.RecordBatch], *more: Iterator[Any]) -> None:
        with ParquetPart(self._at(of, batch) / _NAME, outlives=True) as part:
            for some in (rows, *more):
                for each in some:
                    if each.num_rows:
                        part.write(each)

    def hold(self, batch: int, new: Collection[CountedParts], earlier: Sequence[int]) -> None:
        """Write the counted copies of this batch, together with those in these earlier parts."""
        self.write(
            CountedParts,
            batch,
            table_of(CountedParts, list(new)).to_batches(),
            self._dataset(CountedParts, earlier).to_batches(),
        )

    def held(self, batches: Sequence[int], sought: Collection[CountedParts]) -> set[CountedParts]:
        """Return those of these copies that earlier batches have counted. Reads piece by piece to limit the memory."""
        ids = pyarrow.array(sorted({copy.message_id for copy in sought}), pyarrow.string())
        found = self._dataset(CountedParts, batches).to_table(filter=pyarrow.compute.field("message_id").isin(ids))
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        return set(map(CountedParts._make, rows)).intersection(sought)

    def _dataset(self, of: type, batches: Sequence[int]) -> pyarrow.dataset.Dataset:
        files = [str(path) for path in self._files(of, batches)]
        return pyarrow.dataset.dataset(files, schema=arrow_schema(of), format="parquet")

    def _files(self, of: type, batches: Sequence[int]) -> Iterator[Path]:
        for batch in batches:
            yield from self._at(of, batch).glob("part-*.parquet")

    def _at(self, of: type, batch: int) -> Path:
        return self._folder / of.__name__.lower() / f"batch={batch}"
