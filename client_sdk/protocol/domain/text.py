"""A text that nobody listed: its letters as bits, and its cell in every group that hears of it.

A text of at most L letters becomes an integer of L * c bits, c for each letter. The letters are
numbered from 1 in the registry's order; 0 ends the text and fills up what follows. A device answers
for one of several groups (`text_groups`). The group is drawn by the channel, with coins that know
nothing of the text. Here all groups' cells are computed, so that nothing depends on the group.

Source: Wang, Li & Jha 2021, "Locally differentially private heavy hitter identification" (prefixes,
heard by groups).
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final

from client_sdk.protocol.coins import Coins
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.text_groups import Group, groups_of, letter_bits

MAX_LETTERS: Final = 255
"""The most letters: 8 bits. With more, a text would take too many levels."""

MAX_TEXT_LENGTH: Final = 32
"""The most letters of a text. Longer texts need more groups, each of fewer devices."""

MAX_TEXTS: Final = 100
"""The most texts of one answer.

One of ``max_items`` places is drawn, so that each text is heard of that many times less often.
"""

CELLS: Final = 2**17
"""About how many cells a group's hash has, unless the registry says otherwise."""

BYTES: Final = "".join(map(chr, range(1, 256)))
"""Letters that stand for the bytes of a text in UTF-8, each by its own number. NUL ends a text, so
that it is none.
"""

CUT: Final = "…"
"""Follows a text of the most letters where it is shown: it may be the beginning of a longer one."""

FIRST_BARE_BYTE: Final = 0xDC80
"""The code point as which Python reads byte 128 where it is no UTF-8; others follow (PEP 383)."""


@dataclass(frozen=True, slots=True)
class Text:
    """Any text of the listed letters.

    Attributes:
        letters: at least two different letters, in the registry's order.
        max_length: L, the letters of a text that are heard of; a longer text is cut.
        other: the letter for every letter that is not listed; None if a text with one is no answer.
        discover: whether texts can be found that nobody names. Otherwise all groups confirm.
        max_items: the most texts of one answer, of which one is drawn. With 1 the answer is a text;
            otherwise it is a set of texts.
        cells: about how many cells a group's hash has; the channel says how many exactly.

    """

    kind: ClassVar[str] = "text"

    letters: str
    max_length: int
    other: str | None = field(default=None, kw_only=True)
    discover: bool = field(default=True, kw_only=True)
    max_items: int = field(default=1, kw_only=True)
    cells: int = field(default=CELLS, kw_only=True)
    _codes: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Number the letters from 1."""
        object.__setattr__(self, "_codes", {letter: code for code, letter in enumerate(self.letters, 1)})

    @property
    def letter_bits(self) -> int:
        """The bits of a letter, c."""
        return letter_bits(self.letters)

    @property
    def bits(self) -> int:
        """The bits of a text, L * c."""
        return self.max_length * self.letter_bits

    @property
    def size(self) -> int | None:
        """The number of answers with a share; None because nobody lists them."""
        return None

    @property
    def labels(self) -> tuple[str, ...]:
        """The answer of each input symbol; empty because inputs are cells."""
        return ()

    @property
    def expected(self) -> str:
        """The answers that are allowed, in words."""
        letters = "" if self.other is not None else f" of {self.alphabet}"
        if self.max_items == 1:
            return f"a text{letters}"
        return f"a set, list or tuple of at most {self.max_items} different texts{letters}"

    @property
    def alphabet(self) -> str:
        """The letters, in words."""
        return "characters other than NUL" if self.letters == BYTES else f"the letters {self.letters!r}"

    @property
    def definition(self) -> dict[str, object]:
        """The edition's part that describes the domain; the channel tells the number of cells."""
        fields = {
            "letters": self.letters,
            "max_length": self.max_length,
            "discover": self.discover,
            "max_items": self.max_items,
        }
        return fields if self.other is None else {**fields, "other": self.other}

    def groups(self, cells: int) -> tuple[Group, ...]:
        """Return the groups for hashes of ``cells`` cells: the levels, then those that confirm."""
        return _groups(self.letters, self.max_length, cells, self.discover)

    def encode(self, answer: object, inputs: int, coins: Coins) -> tuple[int, ...]:
        """Return the cell of an answer in each group, from 0 to ``inputs`` - 1.

        Of a set, one of ``max_items`` places is drawn. The empty text fills the places that are
        left.

        Raises:
            DomainError: as `numbers` does.

        """
        numbers = self.numbers(answer)
        place = coins.below(self.max_items)
        return self.cells_of(numbers[place] if place < len(numbers) else 0, inputs)

    def draw(self, inputs: int, coins: Coins) -> tuple[int, ...]:
        """Return a cell in each group, drawn uniformly from all, in place of an invalid answer."""
        return tuple(coins.below(inputs) for _ in self.groups(inputs))

    def numbers(self, answer: object) -> list[int]:
        """Return the integers of an answer's texts, in rising order; texts alike once cut are one.

        Raises:
            DomainError: if it is no text, or no set, list or tuple of at most ``max_items``
                different texts, or if a text has a letter that is not listed while `other` is None.

        """
        if self.max_items == 1:
            return [self.number_of(answer)]
        if not isinstance(answer, AbstractSet | list | tuple):
            raise DomainError
        numbers = sorted({self.number_of(text) for text in answer})
        if len(numbers) > self.max_items or len(set(answer)) < len(answer):
            raise DomainError
        return numbers

    def number_of(self, text: object) -> int:
        """Return the integer of a text. Its first letter has the highest of L * c bits.

        Raises:
            DomainError: if it is no text, or has a letter that is not listed while `other` is None.

        """
        if not isinstance(text, str):
            raise DomainError
        spelt = _as_bytes(text) if self.letters == BYTES else text
        other, number = self._codes.get(self.other or ""), 0
        for letter in spelt[: self.max_length]:
            code = self._codes.get(letter, other)
            if code is None:
                raise DomainError
            number = number << self.letter_bits | code
        return number << self.letter_bits * max(0, self.max_length - len(spelt))

    def text_of(self, number: int) -> str:
        """Return the letters of an integer, up to its end; L letters may begin a longer text."""
        code = (1 << self.letter_bits) - 1
        codes = (number >> shift & code for shift in reversed(range(0, self.bits, self.letter_bits)))
        return "".join(self.letters[code - 1] for code in codes if code)

    def label_of(self, number: int) -> str:
        """Return an integer's text as shown: `CUT` follows L letters, which may have been cut."""
        spelt = self.text_of(number)
        text = _shown(spelt) if self.letters == BYTES else spelt
        return text + CUT if len(spelt) == self.max_length else text

    def cells_of(self, number: int, cells: int) -> tuple[int, ...]:
        """Return the cell of a text's integer in each group."""
        bits = self.bits
        return tuple(group.cell(number >> bits - group.bits, cells) for group in self.groups(cells))


def _as_bytes(text: str) -> str:
    """Return a letter for each byte of a text in UTF-8.

    Raises:
        DomainError: if it is half of a pair of surrogates, which has no bytes.

    """
    try:
        return text.encode().decode("latin-1")
    except UnicodeEncodeError:
        raise DomainError from None


def _shown(spelt: str) -> str:
    r"""Return the text of letters for bytes, on one line.

    What is no printable character is escaped: bytes that are no UTF-8, such as those of a character
    that was cut, as ``\xc3``, control characters as ``\u{a}``. So are backslashes and `CUT`, so
    that no two texts look alike.
    """
    text = spelt.encode("latin-1").decode(errors="surrogateescape")
    return "".join(map(_shown_character, text))


def _shown_character(character: str) -> str:
    code = ord(character)
    if FIRST_BARE_BYTE <= code < FIRST_BARE_BYTE + 0x80:
        return f"\\x{code - FIRST_BARE_BYTE + 0x80:02x}"
    if character == "\\":
        return "\\\\"
    if character.isprintable() and character != CUT:
        return character
    return f"\\u{{{code:x}}}"


@lru_cache
def _groups(letters: str, max_length: int, cells: int, discover: bool) -> tuple[Group, ...]:  # noqa: FBT001 a cache's key
    """Return the groups of a question, whose hashes would otherwise be derived for every answer."""
    return groups_of(letters, max_length, cells, discover=discover)
