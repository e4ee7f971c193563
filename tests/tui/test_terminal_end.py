"""The end of a terminal: the program ends, and nothing waits for ever."""

from __future__ import annotations

import os
import pty
import threading

import pytest
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from sdschat.tui.app import ChatApp
from sdschat.tui.terminal import Outlasting, OutlastingDriver, _EndOfInput
from tests.tui.stage import Stage, staged


@pytest.mark.timeout(30)
def test_what_is_written_to_a_terminal_that_is_gone_is_waited_for_by_nobody() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", buffering=1, closefd=False) as file:
        thread = WriterThread(Outlasting(file))  # type: ignore[arg-type]
        thread.start()
        for _ in range(3 * MAX_QUEUED_WRITES):
            thread.write("a line that nobody reads\n")
        thread.stop()
        assert not thread.is_alive()
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)  # so that what the file still holds can go
    os.close(writer)


@staged()
async def test_the_application_writes_like_that(s: Stage) -> None:
    assert isinstance(s.app, ChatApp)
    assert s.app.driver_class is OutlastingDriver


def test_two_threads_ask_at_once_for_the_end_of_the_input() -> None:
    """It was an error in the one that ends the other: the thread that reads keys stayed, and the program with it, or
    took the keys of the next screen of `replay`."""
    errors: list[Exception] = []
    master, slave = pty.openpty()
    ended = _EndOfInput(slave)

    def ask() -> None:
        try:
            assert not any(ended.is_set() for _ in range(5000))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    os.close(slave)
    os.close(master)
