"""The manual page is made from the texts of --help and from the page for programs."""

from __future__ import annotations

import re

import click
import pytest

from sdschat.cli import errors as codes
from sdschat.cli.man import page
from sdschat.cli.program import COMMANDS, program
from sdschat.node.settings import SETTINGS

_MACROS = {".TH", ".SH", ".SS", ".TP", ".B", ".PP", ".nf", ".fi"}


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return list(page(program))


def test_every_command_and_setting_is_in_it(lines: list[str]) -> None:
    text = "\n".join(lines).replace("\\", "")
    assert all(f"sdschat {name} [OPTIONS]" in text for name in COMMANDS)
    assert all(f".B {name}\n" in text for name in SETTINGS)
    assert ".B --timeout TIME\nLongest time to wait" in text


def test_an_option_that_many_commands_have_is_explained_once(lines: list[str]) -> None:
    assert sum(line.startswith(".B \\-\\-broker") for line in lines) == 1


def test_exit_codes_variables_and_files_come_from_the_page_for_programs(lines: list[str]) -> None:
    at = {title: lines.index(f".SH {title}") for title in ("EXIT STATUS", "ENVIRONMENT", "FILES")}
    assert lines[at["EXIT STATUS"] + 1 : at["EXIT STATUS"] + 3] == [".TP", ".B 0"]
    assert ".B NO_COLOR" in lines[at["ENVIRONMENT"] : at["FILES"]]
    assert ".B \\&./sdschat.toml" in lines[at["FILES"] :]
    constants = {name: value for name, value in vars(codes).items() if name.isupper() and not name.startswith("_")}
    known = {value for value in constants.values() if isinstance(value, int)}
    listed = [line for line in lines[at["EXIT STATUS"] : at["ENVIRONMENT"]] if line.startswith(".B ")]
    assert known == {int(code) for line in listed for code in re.findall(r"\d+", line)}


def test_examples_are_lines_of_their_own(lines: list[str]) -> None:
    at = lines.index("sdschat send lobby \\(dqthe build is green\\(dq \\-\\-name ci")
    assert lines[:at].count(".nf") == lines[:at].count(".fi") + 1


def test_it_is_roff_whatever_the_texts_hold(lines: list[str]) -> None:
    assert all(line.split()[0] in _MACROS for line in lines if line.startswith("."))
    assert all(line.isascii() for line in lines)
    assert lines.count(".nf") == lines.count(".fi")
    wild = click.Group("wild", commands=[click.Command("x", help=".SH \\fB 'quoted' größer")])
    assert "\\&.SH \\efB \\(aqquoted\\(aq gr\\[u00F6]\\[u00DF]er" in list(page(wild))
