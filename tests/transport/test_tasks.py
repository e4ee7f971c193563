"""Background tasks: whoever owns one hears how it ended."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from sdschat.transport.address import Address
from sdschat.transport.base import Crashed
from sdschat.transport.client import MqttTransport
from sdschat.transport.mqtt_options import MqttOptions
from sdschat.transport.tasks import first, start
from tests.transport.worlds import Recorder, free_port


async def after(turns: int, result: int | Exception) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    if isinstance(result, Exception):
        raise result
    return result


def test_the_owner_of_a_task_is_given_the_error_that_ends_it() -> None:
    async def story() -> None:
        found: list[Exception] = []
        error = ValueError("planted")
        tasks = [start(after(1, error), found.append), start(after(1, 1), found.append)]
        ended = start(after(9, 1), found.append)
        ended.cancel()
        await asyncio.wait([*tasks, ended])
        assert found == [error]

    asyncio.run(story())


def test_the_first_to_end_gives_the_result_and_the_others_are_cancelled() -> None:
    async def story() -> None:
        ended = []

        async def never() -> int:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")
            return 0

        waits: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        assert await first(never(), waits, after(2, 7)) == 7
        assert ended == ["cancelled"]
        assert not waits.done()

    asyncio.run(story())


def test_the_first_argument_wins_where_two_end_at_once() -> None:
    async def story() -> None:
        assert await first(after(1, 1), after(1, 2)) == 1

    asyncio.run(story())


def test_an_error_is_raised_whoever_else_ended_at_the_same_time() -> None:
    async def story() -> None:
        with pytest.raises(ValueError, match="planted"):
            await first(after(1, 1), after(1, ValueError("planted")))

    asyncio.run(story())


def test_an_error_while_being_cancelled_is_raised() -> None:
    async def story() -> None:
        async def fails() -> int:
            try:
                return await after(100, 0)
            finally:
                raise ValueError("planted")

        with pytest.raises(ValueError, match="planted"):
            await first(after(1, 1), fails())

    asyncio.run(story())


def test_whoever_is_cancelled_takes_all_of_them_along() -> None:
    async def story() -> None:
        ended = []

        async def never() -> int:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")
            return 0

        whole = asyncio.ensure_future(first(never(), never()))
        await after(3, 0)
        whole.cancel()
        with pytest.raises(asyncio.CancelledError):
            await whole
        assert ended == ["cancelled"] * 2

    asyncio.run(story())


class Broken(Random):
    def random(self) -> float:
        raise ValueError("planted")


def test_a_transport_that_ends_by_an_error_of_its_own_tells_it() -> None:
    async def story() -> None:
        heard = Recorder()
        transport = MqttTransport(MqttOptions(Address("mqtt", "127.0.0.1", free_port())), Broken())
        transport.listen(heard)
        transport.start()
        assert str((await heard.until(Crashed)).error) == "planted"
        await transport.close()

    asyncio.run(story())
