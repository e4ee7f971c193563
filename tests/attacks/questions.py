"""Row 10 of the table: `python -m tests.attacks.questions [--size 4000]`."""

from __future__ import annotations

import signal
import time

from sdschat.node.store_server.quota import QUERIES_EACH
from sdschat.wire.chat_codec import decode_envelope
from sdschat.wire.store_codec import Range, Sealed, StoreQuery, encode_query, encode_sealed
from tests.attacks.attacker import now
from tests.attacks.stage import Stage, main, seconds_until
from tests.cli.processes import Line

HISTORY = 60


def questions(stage: Stage, size: int) -> bool:
    """Questions to a Store in another's name, with a signature that is none.

    Defended if that one is answered all the same.
    """
    attacker, topics = stage.attacker, stage.attacker.topics
    stage.store()
    ann = stage.pipe("ann")
    ann.until(lambda lines: any(_here(line, "store") for line in lines), "no Store is here")
    ann.say(*(f"line {number}" for number in range(HISTORY)))
    ann.until(lambda lines: sum(_acked(line) for line in lines) >= HISTORY, "the Store does not have all of it")
    ann.kill(signal.SIGTERM)
    bob = stage.pipe("bob", "--set", "history.on_join=none")
    bob_id = next(str(line["sender_id"]) for line in bob.lines if line["event"] == "joined")
    bob.until(lambda lines: any(_here(line, "store") for line in lines), "no Store is here")
    store_id = next(str(line["sender_id"]) for line in bob.lines if _here(line, "store"))
    time.sleep(0.5)
    envelope = decode_envelope(attacker.heard[topics.who(bob_id)])
    assert envelope is not None
    bob.kill(signal.SIGTERM)
    for number in range(size):
        query = StoreQuery(number.to_bytes(8), store_id, now(), (), Range(0, now()))
        attacker.publish(
            topics.store_query(bob_id), encode_sealed(Sealed(envelope.author_key, bytes(64), encode_query(query)))
        )
        if number % 500 == 499:
            attacker.flush()
    attacker.flush()
    again = stage.pipe("bob", "--set", "history.on_join=all")
    took = seconds_until(again, lambda lines: len(again.texts(lines)) == HISTORY, 20.0)
    stage.saw(f"forged questions, of {QUERIES_EACH} a minute that one may ask", size)
    stage.saw("seconds until the one whose name was used has all history", f"{took:.1f}")
    return took < 10


def _here(line: Line, nick: str) -> bool:
    return bool(line["event"] == "presence" and line["nick"] == nick and line["online"])


def _acked(line: Line) -> bool:
    return bool(line["event"] == "state" and line["state"] == "acked")


if __name__ == "__main__":
    main(questions, 4000, "questions")
