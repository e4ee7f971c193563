"""The program sdschat with a `pipe` that ends all faults at SIGUSR1; else they last as long as the process."""

from __future__ import annotations

import asyncio
import signal

from sdschat.cli import main
from sdschat.cli.pipe import _Pipe
from sdschat.node.tools.fault_injection import Injection

_run = _Pipe.run


async def _run_with_an_end_of_faults(pipe: _Pipe) -> int:
    def calm() -> None:
        Injection(pipe.node, pipe.channel).off()

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, calm)
    return await _run(pipe)


if __name__ == "__main__":
    _Pipe.run = _run_with_an_end_of_faults  # type: ignore[method-assign, assignment]
    main()
