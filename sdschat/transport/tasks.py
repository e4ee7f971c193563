"""Background tasks. Each has an owner that hears of its failure; no other module creates one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def start(body: Coroutine[Any, Any, T], failed: Callable[[Exception], object]) -> asyncio.Task[T]:
    """Start a task. `failed` is called with the exception that ends it, if one does."""

    def ended(task: asyncio.Task[T]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            failed(error)

    task = asyncio.get_running_loop().create_task(body)
    task.add_done_callback(ended)
    return task


async def first(*bodies: Awaitable[T]) -> T:
    """Run these together until one ends, and cancel the others. Return its result.

    Raise the exception of any that failed, also while it was cancelled. A future is waited for, and never cancelled.
    """
    futures = [asyncio.ensure_future(body) for body in bodies]
    tasks = [future for future, body in zip(futures, bodies, strict=True) if future is not body]
    try:
        done, _ = await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
    for future in futures:
        if future.done() and not future.cancelled() and (error := future.exception()) is not None:
            raise error
    return next(future for future in futures if future in done).result()
