"""Lines that `pipe --json-input` refuses: the reason says what is wrong with this one."""

from __future__ import annotations

import contextlib
import json
import random
import re
from typing import Any

import pytest

from sdschat.cli.json_events import read_line

WRONG = {
    "{}": "; it is empty",
    '{"say": 5}': '; "say" must be a text',
    '{"say": "x", "foo": 1}': '; "foo" has no place here',
    '{"say": "x", "reply_to": null}': '; "reply_to" must be a text',
    '{"to": "bob"}': '; "say" is missing',
    '{"edit": "m1"}': '; "text" is missing',
    '{"leave": 1}': '; "leave" must be true',
    '{"leave": false}': '"leave" must be true',
    '{"show": ""}': '"show" is empty',
    '{"to": " ", "say": "x"}': '"to" is empty',
    '{"edit": "", "text": "x"}': '"edit" is empty',
    '{"say": "x"} more': "it is no JSON in UTF-8: Extra data: line 1 column 14 (char 13)",
    "[]": "it is no JSON object",
    "[" * 100_000: "it has too many levels",
    "9" * 5000: "it has a number of too many digits",
}


@pytest.mark.parametrize("line", WRONG)
def test_the_fault_of_a_line_is_named(line: str) -> None:
    with pytest.raises(ValueError, match=f"{re.escape(WRONG[line])}$"):
        read_line(line.encode())


@pytest.mark.parametrize("seed", range(4))
def test_any_object_is_understood_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    names = ("say", "to", "reply_to", "edit", "text", "delete", "invite", "leave", "show", "open", "x", "")
    for _ in range(2000):
        found: dict[str, Any] = {
            name: chance.choice(("a", 1, True, None, [])) for name in chance.sample(names, chance.randrange(5))
        }
        with contextlib.suppress(ValueError):
            read_line(json.dumps(found).encode())
