"""Two participants whose common broker was away for a week, and who wrote many messages each: seconds until their logs
are equal, and the bytes for each byte that was lacking.

    python -m tests.catchup.apart [--messages 5000]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from sdschat.transport.address import parse_url
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.embedded import EmbeddedHosting
from sdschat.transport.mqtt_options import MqttOptions
from tests.catchup.live import WEEK as AGO
from tests.catchup.live import Tap, packet_bytes, start, stop, until_equal, write_alone
from tests.transport.worlds import free_port


async def measure(home: Path, messages: int, after: float) -> tuple[float, float]:
    """Seconds, and bytes for each byte that was lacking."""
    for name in ("ann", "bob"):
        await write_alone(
            home, name, [f"{name} writes number {number} of that week" for number in range(messages)], AGO
        )
    lacking = packet_bytes(home, "ann") + packet_bytes(home, "bob")
    port = free_port()
    url = f"mqtt://127.0.0.1:{port}"
    hosting = EmbeddedHosting(BrokerConfig("127.0.0.1", port))
    tap = Tap(hosting.options(MqttOptions(parse_url(url)[0])))
    await tap.ready.wait()
    processes = [start(home, name, "--broker", url) for name in ("ann", "bob")]
    try:
        seconds = await until_equal(home, "ann", "bob", 2 * messages)
        print(f"{2 * messages} messages, {lacking:,} bytes of packets: equal after {seconds:.1f} s")
        for what, size in sorted(tap.bytes.items()):
            print(f"  {what}: {size:,} bytes in {tap.packets[what]} packets")
        print(f"  {tap.total() / lacking:.2f} bytes for each byte that was lacking")
        ratio = tap.total() / lacking
        await asyncio.sleep(after)
        print(f"  {tap.total() / lacking:.2f} bytes {after:.0f} s later, with all that is sent again")
        return seconds, ratio
    finally:
        stop(*processes)
        await tap.transport.close()
        await hosting.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=5000, help="that each of the two wrote")
    parser.add_argument("--after", type=float, default=120, help="seconds for which bytes are counted on")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), options.messages, options.after))


if __name__ == "__main__":
    main()
