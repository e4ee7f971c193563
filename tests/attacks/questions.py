"""Row 10 of the table: `python -m tests.attacks.questions [--size 4000]`."""

from __future__ import annotations

import secrets
import signal
import threading
import time

from sdschat.node.store_server.quota import QUERIES_EACH
from sdschat.wire.chat_codec import decode_envelope
from sdschat.wire.store_codec import Range, Sealed, StoreQuery, encode_query, encode_sealed
from tests.attacks.attacker import Attacker, now
from tests.attacks.stage import PATIENCE, Stage, is_acked, is_here, main, seconds_until

HISTORY = 2000
_MORE = 50  # questions in a fifth of a second, after the first
ELSEWHERE = "attic"  # where the attacker learns the public key of the one in whose name it asks


def questions(stage: Stage, size: int) -> bool:
    """Questions to a Store in another's name, with a signature that is none.

    Defended if that one is answered all the same.
    """
    attacker, topics = stage.attacker, stage.attacker.topics
    stage.store()
    ann = stage.pipe("ann")
    ann.until(lambda lines: any(is_here(line, "store") for line in lines), "no Store is here", PATIENCE)
    ann.say(*(f"line {number}" for number in range(HISTORY)))
    ann.until(
        lambda lines: sum(is_acked(line) for line in lines) >= HISTORY, "the Store does not have all of it", PATIENCE
    )
    ann.kill(signal.SIGTERM)
    store_id = next(str(line["sender_id"]) for line in ann.lines if is_here(line, "store"))
    elsewhere = Attacker(stage.port, ELSEWHERE)
    bob = stage.pipe("bob", channel=ELSEWHERE)
    bob_id = next(str(line["sender_id"]) for line in bob.lines if line["event"] == "joined")
    time.sleep(0.5)
    envelope = decode_envelope(elsewhere.heard[elsewhere.topics.who(bob_id)])
    elsewhere.close()
    assert envelope is not None
    bob.kill(signal.SIGTERM)

    def ask(count: int) -> None:
        for _ in range(count):
            query = encode_query(StoreQuery(secrets.token_bytes(8), store_id, now(), (), Range(0, now())))
            forged = Sealed(envelope.author_key, bytes(64), query)
            attacker.publish(topics.store_query(bob_id), encode_sealed(forged))
        attacker.flush()

    ask(size)
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(0.2):
            ask(_MORE)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        again = stage.pipe("bob")
        took = seconds_until(again, lambda lines: len(again.texts(lines)) == HISTORY, 20.0)
    finally:
        over.set()
        thread.join()
    stage.saw(f"forged questions, of {QUERIES_EACH} a minute that one may ask", size)
    stage.saw("seconds until the one whose name was used has all history", f"{took:.1f}")
    unanswered = sum(line["event"] == "store_silent" for line in again.lines)
    answered = sum(line["event"] == "store_answered" for line in again.lines)
    stage.saw("its own questions that were answered", answered)
    stage.saw("its own questions that were not", unanswered)
    return took < 10 and not unanswered


if __name__ == "__main__":
    main(questions, 4000, "questions")
