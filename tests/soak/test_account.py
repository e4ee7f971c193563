"""Tests of the judgement of a soak: messages that may be missing after a kill, and others."""

from __future__ import annotations

from tests.soak.account import Account, Entry, Log, Run, judge


def _log(*texts: str) -> Log:
    return [Entry(f"id of {text}", text) for text in texts]


def _run(*written: str, shown: int | None = None, ended: bool = False) -> Run:
    texts = written[: len(written) if shown is None else shown]
    return Run(list(written), {f"id of {text}": text for text in texts}, ended)


def test_equal_logs_with_everything_in_them_are_right() -> None:
    accounts = [Account("ann", [_run("a1", "a2")]), Account("bob", [_run("b1")])]
    log = _log("a1", "b1", "a2")
    assert judge(accounts, [log, log]) == []


def test_what_a_killed_process_had_not_shown_may_be_missing() -> None:
    account = Account("ann", [_run("a1", "a2", "a3", shown=1, ended=True), _run("a4")])
    assert judge([account], [_log("a1", "a4")]) == []
    assert account.unread(_log("a1", "a4")) == 2


def test_what_a_killed_process_saved_and_had_not_shown_may_be_there() -> None:
    account = Account("ann", [_run("a1", "a2", "a3", shown=1, ended=True)])
    assert judge([account], [_log("a1", "a2")]) == []


def test_what_a_killed_process_had_shown_must_be_there() -> None:
    account = Account("ann", [_run("a1", "a2", shown=2, ended=True)])
    assert judge([account], [_log("a1")]) == ["ann, process 1: 1 messages that it showed as its own are not in its log"]


def test_no_line_is_skipped_before_one_that_was_read() -> None:
    account = Account("ann", [_run("a1", "a2", "a3", shown=0, ended=True)])
    assert judge([account], [_log("a1", "a3")]) == ["ann, process 1: 1 lines that it must have read are not in its log"]


def test_a_process_that_was_not_ended_must_have_read_everything() -> None:
    account = Account("ann", [_run("a1", "a2", shown=1)])
    assert judge([account], [_log("a1")]) == ["ann, process 1: 1 lines that it must have read are not in its log"]


def test_logs_in_another_order_differ() -> None:
    accounts = [Account("ann", [_run("a1", "a2")]), Account("bob")]
    assert judge(accounts, [_log("a1", "a2"), _log("a2", "a1")]) == [
        "logs differ; of 2 messages they lack: ann 0, bob 0"
    ]


def test_a_log_that_lacks_something_differs() -> None:
    accounts = [Account("ann", [_run("a1", "a2")]), Account("bob")]
    assert "logs differ; of 2 messages they lack: ann 0, bob 1" in judge(accounts, [_log("a1", "a2"), _log("a1")])


def test_what_was_given_up_and_came_is_right() -> None:
    accounts = [Account("ann", [_run("a1")]), Account("bob", given_up={"id of a1"})]
    assert judge(accounts, [_log("a1"), _log("a1")]) == []


def test_what_was_given_up_and_never_came_is_lost() -> None:
    accounts = [Account("ann", [_run("a1")]), Account("bob", given_up={"id of a9"})]
    assert judge(accounts, [_log("a1"), _log("a1")]) == ["bob gave up 1 messages and never got them"]


def test_what_nobody_wrote_is_wrong() -> None:
    assert judge([Account("ann", [_run("a1")])], [_log("a1", "zz")]) == ["1 messages are in the log that nobody wrote"]


def test_the_same_line_twice_is_wrong() -> None:
    log = [Entry("one", "a1"), Entry("two", "a1")]
    account = Account("ann", [Run(["a1"], {"one": "a1"})])
    assert judge([account], [log]) == ["1 messages are in the log twice"]
