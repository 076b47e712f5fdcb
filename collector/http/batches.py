"""Counts a batch of uploads: read, judge, count, answer.

A bad upload does not affect the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from client_sdk.protocol.wire.report import Upload
from collector.api.batch import LineProblem, UploadVerdict, decode_batch, encode_answers
from collector.api.problem import Problem
from collector.errors import QuotaExceededError, StoreFullError, StoreUnavailableError
from collector.judgement import Judgement
from collector.monitoring.counters import PROBLEMS, STORE_ERRORS, WorkerCounters
from collector.store.store_protocol import CountedUpload, Outcome, TallyStore


def count_batch(
    body: bytes, judge: Callable[[Sequence[Upload]], list[Judgement]], store: TallyStore, counters: WorkerCounters
) -> bytes:
    """Count every upload of a batch and return the body of the answer.

    Raises:
        ProblemError: 413 if there are too many lines.

    """
    lines = decode_batch(body)
    outcomes = store.count_all(judge([line for line in lines if isinstance(line, Upload)]))
    counters.add_counted(*(outcome for outcome in outcomes if isinstance(outcome, CountedUpload)))
    counters.add(STORE_ERRORS, amount=sum(isinstance(outcome, StoreUnavailableError) for outcome in outcomes))
    remaining = iter(outcomes)
    answers = [
        _answer(number, line.id, next(remaining)) if isinstance(line, Upload) else line
        for number, line in enumerate(lines, 1)
    ]
    for answer in answers:
        if isinstance(answer, LineProblem):
            counters.add(PROBLEMS, answer.code)
    return encode_answers(answers)


def _answer(number: int, upload: str, outcome: Outcome) -> UploadVerdict | LineProblem:
    if isinstance(outcome, CountedUpload):
        return UploadVerdict(upload, outcome.verdict)
    problem = _problem(outcome)
    return LineProblem(number, problem.status, problem.code, problem.sentence)


def _problem(error: QuotaExceededError | StoreUnavailableError) -> Problem:
    if isinstance(error, QuotaExceededError):
        return Problem.QUOTA_EXCEEDED
    return Problem.STORE_FULL if isinstance(error, StoreFullError) else Problem.STORE_UNAVAILABLE
