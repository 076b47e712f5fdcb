"""Measures how easily pages are read: ``python -m tools.reading_ease README.md docs/tutorial.md``.

It needs ``pip install textstat==0.7.4 'setuptools<81'``, which no extra names: later versions
download data when used. Flesch's reading ease is 206.8 less 1.015 times the words of a sentence and
84.6 times the syllables of a word.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools.prose import prose


def plain(text: str) -> str:
    """Return the prose of a page without links, marks, code blocks and tables."""
    lines = "\n".join(line for _, line in prose(text))
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"!\[[^\]]*\]\([^)]*\)", "", lines))
    return re.sub(r"^\s*(\d+\.|-)\s", "", re.sub(r"[`*]", "", words), flags=re.MULTILINE)


def main() -> None:
    """Print a line for each page."""
    import textstat  # noqa: PLC0415 it is installed for this command only

    for name in sys.argv[1:]:
        text = plain(Path(name).read_text(encoding="utf-8"))
        words, sentences = textstat.lexicon_count(text), textstat.sentence_count(text)
        ease = textstat.flesch_reading_ease(text)
        print(f"{name}: reading ease {ease:.0f}, {words} words, {words / sentences:.0f} in a sentence")


if __name__ == "__main__":
    main()
