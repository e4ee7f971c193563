"""A real browser, driven over its debugging protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from tests.needs import needs_program

PATIENCE = 40.0
# Keeps what a terminal in a page is sent, as text: the page draws it on a canvas, which has no text to wait for.
_HEAR = """
window.received = "";
window.WebSocket = class extends WebSocket {
  constructor(...where) {
    super(...where);
    this.addEventListener("message", async ({data}) => {
      const bytes = data instanceof Blob ? await data.arrayBuffer() : data;
      const text = typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes);
      window.received += text.replace(/\\x1b\\[[0-?]*[ -\\/]*[@-~]/g, "");
    });
  }
};
"""


class Tab:
    """One page in the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._last = 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        await self._socket.send_json({"id": self._last, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = json.loads((await self._socket.receive()).data)
                if answer.get("id") == self._last:
                    assert "error" not in answer, answer
                    result: dict[str, Any] = answer["result"]
                    return result

    async def open(self, address: str) -> None:
        await self.call("Emulation.setFocusEmulationEnabled", enabled=True)  # no window manager gives it the keys
        await self.call("Page.enable")
        await self.call("Page.addScriptToEvaluateOnNewDocument", source=_HEAR)
        await self.call("Page.navigate", url=address)
        await self.until("document.readyState === 'complete'")

    async def ask(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def until(self, script: str) -> Any:
        """Wait until an expression is true."""
        async with asyncio.timeout(PATIENCE):
            while not (found := await self.ask(script)):
                await asyncio.sleep(0.05)
        return found

    async def type(self, text: str) -> None:
        await self.call("Input.insertText", text=text)

    async def press(self, key: str, code: int) -> None:
        how = {"key": key, "code": key, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text="\r" if key == "Enter" else "", **how)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **how)

    async def sent(self, *texts: str) -> None:
        """Wait until the terminal in the page was sent these texts, wherever lines break."""
        seen = "window.received.replace(/\\s+/g, ' ')"
        await self.until(f"{json.dumps(texts)}.every(text => {seen}.includes(text))")

    async def picture(self, path: Path, width: int, height: int, *texts: str) -> None:
        """Take a picture of the page in another size, once it is drawn again with these texts."""
        await self.ask("window.received = ''")
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        await self.sent(*texts)
        await self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        taken = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(taken["data"]))


@contextlib.asynccontextmanager
async def browser() -> AsyncIterator[Tab]:
    """Start a browser with a profile of its own, and end it."""
    program = needs_program("chromium")
    profile = Path(tempfile.mkdtemp(prefix="browser-"))
    flags = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-port=0")
    process = subprocess.Popen(
        [program, "--headless", *flags, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = await _port(profile / "DevToolsActivePort")
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = await answer.json()
            address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Tab(socket)
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(profile, ignore_errors=True)


async def _port(file: Path) -> int:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int(file.read_text().splitlines()[0])
        await asyncio.sleep(0.05)
    raise AssertionError("the browser did not start")
