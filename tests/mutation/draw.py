"""Random choice of mutations: file, place and replacement."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.mutation.variants import Variant, variants

# Without consequence for the program: types and the text of errors. Decorators, with sizes of caches, are left out too.
_LEFT_OUT: Final = (ast.JoinedStr, ast.Raise, ast.Assert)
_TYPING: Final = ("cast", "TypeVar", "NewType")


class Mutation(NamedTuple):
    """One mutation. `start` and `end` in bytes of the file; its path is relative to the root of the tree."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    text: str
    before: str  # the whole lines, as they are and as they become, in one
    after: str

    def of(self, source: bytes) -> bytes:
        """The text of the file with the mutation."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def draw(root: Path, packages: Iterable[str], seed: int, count: int) -> list[Mutation]:
    """Draw `count` mutations, all kinds with equal probability, no place twice; the same for the same seed and code."""
    kinds: dict[str, dict[tuple[str, int], list[Mutation]]] = {}
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            if not path.stem.endswith("_pb2"):
                for one in mutations(path.relative_to(root).as_posix(), path.read_bytes()):
                    kinds.setdefault(one.kind, {}).setdefault((one.path, one.line), []).append(one)
    chance = Random(seed)
    found: list[Mutation] = []
    while kinds and len(found) < count:
        kind = chance.choice(sorted(kinds))
        place = chance.choice(sorted(kinds[kind]))
        found.append(chance.choice(kinds[kind].pop(place)))
        if not kinds[kind]:
            del kinds[kind]
    return found


def mutations(path: str, source: bytes) -> Iterator[Mutation]:
    """All mutations of one file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for kind, node, text in _walk(ast.parse(source), ""):
        if node.end_lineno is None or node.end_col_offset is None:
            continue
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        first, last = starts[node.lineno - 1], starts[node.end_lineno]
        before, after = source[first:last], source[first:start] + text.encode() + source[end:last]
        if before != after:
            yield Mutation(path, node.lineno, kind, start, end, text, _one_line(before), _one_line(after))


def _one_line(text: bytes) -> str:
    return " ".join(text.decode().split())


def _walk(node: ast.AST, returns: str) -> Iterator[Variant]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        returns = ast.unparse(node.returns) if node.returns else ""
    yield from variants(node, returns)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _left_out(child):
                yield from _walk(child, returns)


def _left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        return any("Protocol" in ast.unparse(base) for base in node.bases)
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _TYPING
    return isinstance(node, _LEFT_OUT)
