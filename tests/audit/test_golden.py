"""An audit says today what it said when the golden file was written: text, exit code and JSON."""

from tests.audit.golden import FILE, answer, written
from tests.audit.oracle import oracle


def test_the_output_is_that_of_the_golden_file() -> None:
    assert written(answer).splitlines() == FILE.read_text(encoding="utf-8").splitlines()


def test_the_oracle_gives_the_golden_file_too() -> None:
    assert written(oracle).splitlines() == FILE.read_text(encoding="utf-8").splitlines()
