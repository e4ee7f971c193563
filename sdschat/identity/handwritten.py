"""Names that are nearly right, and TOML files: the two things that people write by hand."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Final

_ALIKE: Final = 0.6  # of 1; two letters that changed places in a short name are still found


class TomlError(ValueError):
    """A file cannot be read as TOML. The text says why, for a person."""

    cannot: ClassVar = "cannot be read as TOML"


class FileUnreadable(TomlError):
    """The system does not give us the text of a file, TOML or not."""

    cannot: ClassVar = "cannot be read"


def nearest(name: str, known: Iterable[str], alike: float = _ALIKE) -> str | None:
    """Return the known name most like `name`, or None if none is at least so much alike (0 to 1)."""
    from difflib import get_close_matches  # imported here: it is needed only after a mistake

    return next(iter(get_close_matches(name, list(known), 1, alike)), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", *, prefix: str = "") -> str:
    """Return the question that names the nearest known name, with `prefix`, or `otherwise` if none is near."""
    found = nearest(name, known)
    return otherwise if found is None else f"Did you mean {prefix}{found}?"


def read_toml(path: Path, largest: int | None = None) -> dict[str, Any]:
    """Return the content of a file of at most `largest` bytes. Raises TomlError."""
    try:
        if largest is not None and path.stat().st_size > largest:
            raise TomlError(f"it has more than {largest} bytes")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise TomlError(f"it is no text in UTF-8, at byte {error.start}") from error
    except OSError as error:
        raise FileUnreadable(error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TomlError(str(error)) from error
