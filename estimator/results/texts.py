"""What a tally says of texts that nobody listed."""

from __future__ import annotations

from typing import Final

from estimator.results.estimate import Shares
from estimator.results.record import Record

EMPTY_TEXT: Final = "(empty text)"
"""What stands for the empty text where nothing would be taken for a gap."""


class LeastShare(Record, frozen=True):
    """From which share on a text is found 9 times in 10.

    Attributes:
        letters: of the text.
        share: None if no share is found so often.

    """

    letters: int
    share: float | None


class TextFindings(Record, frozen=True, kw_only=True):
    """The texts of a tally: those that were found in it, and those that the analyst named.

    Attributes:
        found: the share of each text that was found and confirmed, the most common first. A text
            that ends with an ellipsis may be the beginning of longer ones. None if the question
            finds no texts.
        candidates: how many texts were tested for ``found``.
        named: the share of each text that the analyst named; None if none was named.
        certain: how many of these surely occur: with 95 % confidence all of them do.
        unclear: found or named texts about which groups of devices contradict each other. If they
            were not named, they have no share.
        least: from which share on a short text and one of the most letters are found. Empty without
            reports, and if the question finds no texts.
        max_length: the letters of a text that are heard of.
        made_up: on request, how many made-up reports put a text on the list that nobody has;
            otherwise None.

    """

    found: Shares | None = None
    candidates: int = 0
    named: Shares | None = None
    certain: int = 0
    unclear: tuple[str, ...] = ()
    least: tuple[LeastShare, ...] = ()
    max_length: int
    made_up: int | None = None
