"""What a rehearsal of texts found, missed, and made up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from estimator.rehearsal.true_answers import Value


@dataclass(frozen=True, slots=True)
class TextOutcome:
    """The list of texts beside the truth.

    Attributes:
        occurring: how many texts of the list occur.
        false: the texts of the list that nobody has.
        missed: the texts that are not on the list, though they are at least as common as one that
            is, with their shares; the most common first.
        commonest: the most common text that is not on the list, with its share; None if none is
            missing.

    """

    occurring: int
    false: tuple[str, ...]
    missed: tuple[tuple[str, float], ...]
    commonest: tuple[str, float] | None

    @classmethod
    def of(cls, found: Iterable[object], shares: Mapping[Value, float]) -> TextOutcome:
        """Compare the found texts with the shares of all that occur."""
        listed, truth = set(map(str, found)), {str(text): share for text, share in shares.items()}
        least = min((truth[text] for text in listed & truth.keys()), default=1.0)
        others = sorted(
            ((text, share) for text, share in truth.items() if text not in listed), key=lambda each: -each[1]
        )
        return cls(
            occurring=len(listed & truth.keys()),
            false=tuple(sorted(listed - truth.keys())),
            missed=tuple(each for each in others if each[1] >= least),
            commonest=next(iter(others), None),
        )
