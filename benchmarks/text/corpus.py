"""The frequencies of words in Jane Austen's six novels, which are in the public domain.

Debian's package `r-cran-janeaustenr` contains the novels. `apt-get download` fetches the package
into `build` and does not install it. The repository contains no real answers of people.
"""

from __future__ import annotations

import re
import struct
import subprocess
import zlib
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Final

PACKAGE: Final = "r-cran-janeaustenr"
BOOKS: Final = "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"
FOLDER: Final = Path(__file__).parents[2] / "build" / PACKAGE

LINE: Final = re.compile(rb"\x00(?:\x04\x00|\x00\x80)\x09(?=(....))", re.DOTALL)
"""In a file written by R, these bytes precede the length of an ASCII or UTF-8 text, and the text (R
Internals, section 1.8).
"""


class CorpusError(Exception):
    """The corpus could not be fetched."""


@lru_cache(maxsize=1)
def word_counts() -> Counter[str]:
    """Return the frequencies of words of lower-case letters and inner apostrophes in all novels.

    Raise `CorpusError` if the package cannot be fetched.
    """
    books = FOLDER / BOOKS
    if not books.exists():
        _fetch()
    return Counter(
        word
        for text in _texts(books.read_bytes())
        for word in re.findall(r"[a-z]+(?:'[a-z]+)*", text.decode("utf-8").lower())
    )


def _fetch() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    _run("apt-get", "download", "--quiet", PACKAGE)
    _run("dpkg", "-x", *(file.name for file in FOLDER.glob(f"{PACKAGE}_*.deb")), ".")


def _run(*command: str) -> None:
    try:
        subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CorpusError(f"{PACKAGE} of Debian could not be fetched: {error}") from error


def _texts(packed: bytes) -> list[bytes]:
    """Return the lines of all books.

    In the package, the length of each compressed block precedes the block, in four bytes.
    """
    lines = []
    while packed:
        (length,) = struct.unpack(">I", packed[:4])
        stream = zlib.decompressobj()
        block = stream.decompress(packed[4:])
        assert len(block) == length
        packed = stream.unused_data
        for header in LINE.finditer(block):
            (size,) = struct.unpack(">i", header[1])
            begin = header.end() + 4
            lines.append(block[begin : begin + max(size, 0)])
    return lines
