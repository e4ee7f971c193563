"""Sources that say any number: what is asked of them next can be encoded, and the program goes on."""

from __future__ import annotations

from random import Random

from sdschat.catchup.peers import HistorySource
from sdschat.catchup.session import CatchUpSession
from sdschat.catchup.values import (
    HIGHEST,
    LOWEST,
    AnswerFrame,
    Ask,
    Frame,
    LogKey,
    Question,
    QuestionKind,
    RangePart,
    RangeReply,
    Want,
)
from sdschat.sim.companion import MemoryLog
from sdschat.wire.catchup_codec import encode_frame
from tests.catchup.compare import some_keys

_NUMBERS = (0, 1, 2, 64, 65, 101, 1024, 4096, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1)


def _reply(rng: Random, question: Question) -> RangeReply:
    if question.kind is QuestionKind.CELLS:
        cells = tuple(rng.getrandbits(64) for _ in range(rng.choice((0, 3, 30))))
        return RangeReply(cells=cells, listed=rng.random() < 0.5)
    if question.kind is QuestionKind.KEYS:
        return RangeReply(keys=(LogKey(question.low.lamport, question.low.message_id + "0"),))
    ends = [question.high]
    middle = LogKey(rng.randrange(question.low.lamport, question.high.lamport + 1), "8")
    if question.number > 1 and question.low < middle < question.high:
        ends.insert(0, middle)
    return RangeReply(tuple(RangePart(end, rng.choice(_NUMBERS), rng.randbytes(8)) for end in ends))


def _drive(rng: Random, keys: int) -> set[type]:
    """Let a source answer at random. Return the kinds of what it was asked."""
    seeker = CatchUpSession(MemoryLog(some_keys(keys)), lambda: rng.getrandbits(64))
    seeker.begin(LOWEST, HIGHEST, 0)
    seeker.sources([HistorySource("mal")], 0)
    asked: set[type] = set()
    for now in range(100, 6_000, 100):
        frames, seeker.frames = seeker.frames, []
        for _, frame in frames:
            encode_frame(frame)
            asked.add(type(frame.what))
            match frame.what:
                case Ask(_, questions):
                    answer = AnswerFrame(tuple(_reply(rng, one) for one in questions))
                    seeker.heard("mal", Frame(frame.session, frame.number, answer), now)
                case Want(stretches, limit) if limit:
                    seeker.took([stretches[-1].low], 1, True, now)
        seeker.advance(now)
    return asked


def test_whatever_numbers_a_source_says_the_next_question_can_be_encoded() -> None:
    """A part of 2^40 messages made a request that no packet has room for, which ended the program."""
    asked = [_drive(Random(seed), 40 * (seed % 3)) for seed in range(60)]
    assert sum(Want in one for one in asked) > 15
