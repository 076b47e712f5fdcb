"""Counts a batch of uploads: read, judge, count, answer; what is wrong with one does not take the others with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from client_sdk.spec import Upload
from collector.bulk import Answered, LineProblem, decode_batch, encode_answers
from collector.judge import Judgement
from collector.problem import Problem
from collector.store import Counted, Outcome, QuotaExceededError, TallyStore


def count_batch(body: bytes, judge: Callable[[Sequence[Upload]], list[Judgement]], store: TallyStore) -> bytes:
    """Count every upload of a batch and return the body of the answer.

    Raises:
        ProblemError: 413 if there are too many lines.

    """
    lines = decode_batch(body)
    outcomes = iter(store.count_all(judge([line for line in lines if isinstance(line, Upload)])))
    return encode_answers(
        [
            _answer(number, line.id, next(outcomes)) if isinstance(line, Upload) else line
            for number, line in enumerate(lines, 1)
        ]
    )


def _answer(number: int, upload: str, outcome: Outcome) -> Answered | LineProblem:
    if isinstance(outcome, Counted):
        return Answered(upload, outcome.verdict)
    problem = Problem.QUOTA_EXCEEDED if isinstance(outcome, QuotaExceededError) else Problem.STORE_UNAVAILABLE
    return LineProblem(number, problem.status, problem.code, problem.sentence)
