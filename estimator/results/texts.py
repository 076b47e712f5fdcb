"""What a tally says of texts that nobody listed."""

from __future__ import annotations

from typing import Annotated, Final

from estimator.results.record import Record, says

EMPTY_TEXT: Final = "(empty text)"
"""What stands for the empty text where nothing would be taken for a gap."""


class LeastShare(Record, frozen=True):
    """From which share on a text is found 9 times in 10."""

    letters: Annotated[int, says("of the text.")]
    share: Annotated[float | None, says("None if no share is found so often.")]


class TextFindings(Record, frozen=True, kw_only=True):
    """How the texts of a tally were found: what their list lacks, and what is sure."""

    candidates: Annotated[int, says("how many texts were tested for the statistic ``found_text``.")] = 0
    certain: Annotated[
        int, says("how many of the texts that the analyst named surely occur: with 95 % confidence all of them do.")
    ] = 0
    unclear: Annotated[
        tuple[str, ...],
        says(
            "found or named texts about which groups of devices contradict each other. If they were "
            "not named, they have no share."
        ),
    ] = ()
    least: Annotated[
        tuple[LeastShare, ...],
        says(
            "from which share on a short text and one of the most letters are found. Empty without "
            "reports, and if the question finds no texts."
        ),
    ] = ()
    max_length: Annotated[int, says("the letters of a text that are heard of.")]
    made_up: Annotated[
        int | None, says("on request, how many made-up reports put a text on the list that nobody has; otherwise None.")
    ] = None
