"""Mutations of one node of the syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_OTHER: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_SIGNS: Final[dict[type[ast.operator], type[ast.operator]]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_EMPTY: Final = {"str": '""', "bytes": 'b""', "list": "[]", "tuple": "()", "dict": "{}", "set": "set()"}


class Variant(NamedTuple):
    """A node of the tree, and the text to put in its place."""

    kind: str
    node: ast.expr | ast.stmt
    text: str


def variants(node: ast.AST, returns: str) -> Iterator[Variant]:
    """All mutations of one node. `returns`: the declared return type of the function around it."""
    make = _MAKERS.get(type(node))
    if make is not None:
        yield from make(node, returns)


def _compare(node: ast.Compare, _: str) -> Iterator[Variant]:
    for at, operator in enumerate(node.ops):
        for other in _OTHER[type(operator)]:
            changed = copy.deepcopy(node)
            changed.ops[at] = other()
            yield Variant("comparison", node, ast.unparse(changed))


def _bool_op(node: ast.BoolOp, _: str) -> Iterator[Variant]:
    changed = copy.deepcopy(node)
    changed.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    yield Variant("and/or", node, ast.unparse(changed))


def _unary(node: ast.UnaryOp, _: str) -> Iterator[Variant]:
    if isinstance(node.op, ast.Not):
        yield Variant("not", node, f"({ast.unparse(node.operand)})")


def _branch(node: ast.If | ast.IfExp, _: str) -> Iterator[Variant]:
    if isinstance(node.test, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        yield Variant("not", node.test, f"(not {ast.unparse(node.test)})")


def _sum(node: ast.BinOp, _: str) -> Iterator[Variant]:
    other = _SIGNS.get(type(node.op))
    if other is not None:
        changed = copy.deepcopy(node)
        changed.op = other()
        yield Variant("sign", node, ast.unparse(changed))


def _step(node: ast.AugAssign, _: str) -> Iterator[Variant]:
    other = _SIGNS.get(type(node.op))
    if other is not None:
        changed = copy.deepcopy(node)
        changed.op = other()
        yield Variant("sign", node, ast.unparse(changed))
    yield Variant("removed", node, "pass")


def _number(node: ast.Constant, _: str) -> Iterator[Variant]:
    if isinstance(node.value, bool):
        yield Variant("constant", node, str(not node.value))
    elif isinstance(node.value, int):
        yield Variant("constant", node, str(node.value + 1))
        yield Variant("constant", node, f"({node.value - 1})")


def _call(node: ast.Call, _: str) -> Iterator[Variant]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in ("min", "max"):
        changed = copy.deepcopy(node)
        changed.func = ast.Name("max" if name == "min" else "min")
        yield Variant("min/max", node, ast.unparse(changed))
    elif not any(isinstance(one, ast.Starred) for one in node.args):
        for at in range(len(node.args) - 1):
            changed = copy.deepcopy(node)
            changed.args[at : at + 2] = changed.args[at + 1], changed.args[at]
            if ast.dump(changed) != ast.dump(node):
                yield Variant("swapped", node, ast.unparse(changed))


def _loop_end(node: ast.Continue | ast.Break, _: str) -> Iterator[Variant]:
    yield Variant("continue/break", node, "break" if isinstance(node, ast.Continue) else "continue")


def _expression(node: ast.Expr, _: str) -> Iterator[Variant]:
    if isinstance(node.value, ast.Call):
        yield Variant("removed", node, "pass")


def _assign(node: ast.Assign, _: str) -> Iterator[Variant]:
    if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
        yield Variant("removed", node, "pass")


def _delete(node: ast.Delete, _: str) -> Iterator[Variant]:
    yield Variant("removed", node, "pass")


def _return(node: ast.Return, returns: str) -> Iterator[Variant]:
    if node.value is None or isinstance(node.value, ast.Constant | ast.Compare | ast.BoolOp):
        return
    value, kind = ast.unparse(node.value), returns.partition("[")[0]
    if kind == "bool":
        text = f"not ({value})"
    elif kind == "int":
        text = f"({value}) + 1"
    elif kind in _EMPTY:
        text = _EMPTY[kind]
    elif returns.endswith("| None"):
        text = "None"
    else:
        return
    if text != value:
        yield Variant("return", node.value, text)


_MAKERS: Final[dict[type[ast.AST], Callable[..., Iterator[Variant]]]] = {
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.UnaryOp: _unary,
    ast.If: _branch,
    ast.IfExp: _branch,
    ast.BinOp: _sum,
    ast.AugAssign: _step,
    ast.Constant: _number,
    ast.Call: _call,
    ast.Continue: _loop_end,
    ast.Break: _loop_end,
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.Delete: _delete,
    ast.Return: _return,
}
