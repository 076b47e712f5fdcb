"""The kind ``text``: the answer is any text, or a list of texts.

Each report belongs to a *group* of devices (`client_sdk.protocol.mechanisms.grouped_geometry`). In
each group, a hash maps the text to a *cell*, an integer. The channel draws the group, independently
of the text. This module computes the cells of all groups, so that the encoding does not depend on
the drawn group.

A list of texts is encoded as one set of cells per group. If the list has fewer texts than
`Text.max_items`, dummies fill up the set.

Before hashing, a text of at most L letters becomes an integer of L * c bits, with c bits for each
letter. Each letter is represented by its position in the registry, counted from 1. The number 0
ends the text and fills the remaining bits.

Source: Wang, Li & Jha 2021, "Locally differentially private heavy hitter identification" (groups of
devices that report prefixes of one length).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from string import ascii_letters, ascii_lowercase, digits
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from client_sdk.protocol.channel import Coins
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.key import FLAG, OTHER, Key, listing, text, whole
from client_sdk.protocol.kinds.kind import MEMBERS_APART, AskedMetric, Kind, Label, Law, NamedAnswer, refused
from client_sdk.protocol.kinds.set import MAX_ITEMS
from client_sdk.protocol.kinds.words import escaped
from client_sdk.protocol.mechanisms.grouped_geometry import Group, groups_of, letter_bits
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import TomlTable, is_text, suggestion

if TYPE_CHECKING:
    from client_sdk.protocol.channel import Channel
    from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry

MAX_LETTERS: Final = 255
"""The maximum number of different letters; a letter then takes at most 8 bits. With more bits per
letter, a text would need too many groups."""

MAX_TEXT_LENGTH: Final = 32
"""The maximum number of letters of a text. Longer texts need more groups, so each group has fewer
devices."""

MAX_TEXTS: Final = 100
"""The maximum number of texts in one answer. With more texts, a report would contain too little
information about each text."""

CELLS: Final = 2**17
"""The approximate number of cells of a group, unless the registry sets ``cells``."""

MOST_APPROVED: Final = 1000
"""The maximum number of approved texts. Nobody would check more texts one by one."""

BYTES: Final = "".join(map(chr, range(1, 256)))
"""The letters of a text that is encoded as UTF-8: letter n represents byte n.
NUL is excluded, because 0 ends a text.
"""

CUT: Final = "…"
"""The mark that is shown after a text of the maximum length, because the text may have been cut."""

FIRST_BARE_BYTE: Final = 0xDC80
"""The code point that Python substitutes for byte 128 in invalid UTF-8. The code points for bytes
129 to 255 follow (PEP 383, surrogateescape)."""


PRESETS: Final[Mapping[str, str]] = {
    "bytes": BYTES,
    "domain": f"{ascii_lowercase}{digits}-.",
    "identifier": f"{ascii_letters}{digits}_",
}
"""Maps the name of each preset to its letters. The order of letters affects the meaning of reports
and never changes."""

CELLS_ALLOWED: Final = tuple(2**power for power in range(12, 18))
"""The allowed values of ``cells``. With fewer cells, too many texts would share a cell. With more
cells, hardly any additional texts would be found."""


def _read_letters(table: TomlTable, key: Key, _: Mapping[str, Any]) -> str | None:
    preset, letters = table.text("preset"), table.take(key.name)
    if preset and letters is not None:
        table.mistake("preset", "cannot be combined with letters; keep one of them")
        return None
    if preset and preset not in PRESETS:
        table.mistake("preset", f"must be one of: {', '.join(PRESETS)}{suggestion(preset, PRESETS)}")
    if letters is None:
        if not preset:
            table.mistake("letters", 'is missing; name the letters of a text, such as "abcdefghijklmnopqrstuvwxyz"')
        return PRESETS.get(preset)
    if not is_text(letters, MAX_LETTERS) or not 1 < len(letters) == len(set(letters)) or CUT in letters:
        what = f"must be a text of 2 to {MAX_LETTERS} different printable characters"
        table.mistake("letters", f"{what} without {CUT!r}, which marks a text that was cut")
        return None
    return letters


def _read_cells(table: TomlTable, key: Key, _: Mapping[str, Any]) -> int | None:
    cells = table.take(key.name)
    if cells is not None and (type(cells) is not int or cells not in CELLS_ALLOWED):
        table.mistake("cells", f"must be a power of two from {CELLS_ALLOWED[0]} to {CELLS_ALLOWED[-1]}")
        return None
    return cells


def _read_approved(table: TomlTable, key: Key, _: Mapping[str, Any]) -> tuple[str, ...] | None:
    texts, most = table.take(key.name), key.own["maxItems"]
    if texts is None:
        return None
    is_list = isinstance(texts, list) and all(map(is_text, texts))
    if not is_list or not 1 <= len(texts) <= most or len(set(texts)) < len(texts):
        table.mistake(key.name, f"must be a list of 1 to {most} different texts of printable characters")
        return None
    return tuple(texts)


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Any text that consists of the letters in the registry.

    Attributes:
        letters: at least two different letters, in the registry's order.
        max_length: L, the maximum number of letters; a longer text is cut.
        other: the letter that replaces unlisted letters; None if unlisted letters are invalid.
        discover: whether unlisted texts can be discovered. If not, reports only confirm or refute
            texts that the analyst lists.
        max_items: the maximum number of texts in one answer. If the number is 1, an answer is a
            text; otherwise, an answer is a list of different texts in any order.
        cells: the approximate number of cells of a group; the channel determines the exact number.
        approved: the discovered texts that may be published; not part of `Metric.edition`.
    """

    name: ClassVar[str] = "text"
    keys: ClassVar[tuple[Key, ...]] = (
        Key(
            "letters",
            text(MAX_LETTERS),
            "for a text: the letters that are distinguished",
            required=False,
            read=_read_letters,
        ),
        Key(
            "preset",
            {"enum": list(PRESETS)},
            "for a text: the name of a predefined list of letters",
            required=False,
            read=lambda *_: None,  # read together with the letters
        ),
        OTHER._replace(read=lambda table, key, _: table.text(key.name, most=1) or None),
        Key("max_length", whole(MAX_TEXT_LENGTH), "for a text: the maximum number of letters; longer texts are cut"),
        MAX_ITEMS._replace(narrower=whole(MAX_TEXTS), required=False),
        Key("discover", FLAG, "for a text: whether unlisted texts can be discovered"),
        Key(
            "cells",
            {"enum": list(CELLS_ALLOWED)},
            "for a text: the approximate number of cells among which texts are distributed",
            required=False,
            read=_read_cells,
        ),
        Key(
            "approved",
            listing(text(), 1, MOST_APPROVED) | {"uniqueItems": True},
            "for a text with public = true: the discovered texts that may be published",
            required=False,
            read=_read_approved,
        ),
    )
    rule: ClassVar[dict[str, Any]] = {"oneOf": [{"required": ["letters"]}, {"required": ["preset"]}]}
    refused: ClassVar[Mapping[str, str]] = refused(
        permanent_epsilon="does not apply to a text: a permanent answer about so many texts would be too noisy",
        fill_in="does not apply to a text; record an answer in every window instead",
        strata="does not apply to a text: in the separate tallies of each stratum, fewer texts would be found",
    )
    is_named: ClassVar[bool] = False
    shapes: ClassVar[tuple[str, ...]] = ("cells",)
    has_samples: ClassVar[bool] = False

    letters: str
    max_length: int
    other: str | None = field(default=None, kw_only=True)
    discover: bool = field(default=True, kw_only=True)
    max_items: int = field(default=1, kw_only=True)
    cells: int = field(default=CELLS, kw_only=True)
    approved: tuple[str, ...] = field(default=(), kw_only=True)
    _codes: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_codes", {letter: code for code, letter in enumerate(self.letters, 1)})

    @property
    def letter_bits(self) -> int:
        """The number of bits that encode a letter."""
        return letter_bits(self.letters)

    @property
    def bits(self) -> int:
        """The number of bits that encode a text."""
        return self.max_length * self.letter_bits

    @classmethod
    def from_keys(cls, table: TomlTable, values: Mapping[str, Any]) -> Kind | None:
        """Return the kind; None after a mistake, such as two keys that contradict each other."""
        letters, other, cells = values["letters"], values["other"], values["cells"] or CELLS
        if other and letters == BYTES:
            table.mistake("other", "does not apply to bytes, which can spell every text; remove it")
            return None
        if other and other not in letters:
            table.mistake("other", "must be one of letters")
            return None
        most, is_found = values["max_items"] or 1, values["discover"]
        kind = cls(letters, values["max_length"], other=other, discover=is_found, max_items=most, cells=cells)
        if 2**kind.bits <= cells:
            table.mistake("max_length", 'allows so few texts that all can be listed; use kind = "category"')
            return None
        return kind._with_approved(table, values["approved"] or ())

    def _with_approved(self, table: TomlTable, texts: Sequence[str]) -> Kind | None:
        try:
            shown = [self.label_of(self.number_of(text.removesuffix(CUT))) for text in texts]
        except DomainError:
            table.mistake("approved", f"must contain texts of {self.alphabet}")
            return None
        return replace(self, approved=tuple(dict.fromkeys(shown)))

    @property
    def expected(self) -> str:
        """The valid answers, described for error messages."""
        letters = "" if self.other is not None else f" of {self.alphabet}"
        if self.max_items == 1:
            return f"a text{letters}"
        return f"a set, list or tuple of at most {self.max_items} different texts{letters}"

    @property
    def alphabet(self) -> str:
        """The valid letters of a text, described for error messages."""
        return "characters other than NUL" if self.letters == BYTES else f"the letters {self.letters!r}"

    @property
    def definition(self) -> dict[str, object]:
        """The possible answers, in the form that `Metric.edition` hashes.

        The number of cells is left out.
        """
        fields = {
            "letters": self.letters,
            "max_length": self.max_length,
            "discover": self.discover,
            "max_items": self.max_items,
        }
        return fields if self.other is None else {**fields, "other": self.other}

    def groups(self, cells: int) -> tuple[Group, ...]:
        """Return the groups of devices (see `groups_of`), each of which has ``cells`` cells."""
        return _groups(self.letters, self.max_length, cells, self.discover)

    @property
    def expected_in_cell(self) -> str:
        """The format of an answer in a table cell, in words."""
        return self.expected if self.max_items == 1 else f"texts with {MEMBERS_APART!r} between them: {self.expected}"

    @property
    def dummies(self) -> int:
        """The number of dummies, which are the last cells of a group and fill up short lists."""
        return self.max_items if self.max_items > 1 else 0

    def encode(self, answer: object, inputs: int, coins: Coins) -> tuple[Any, ...]:  # noqa: ARG002 used by other kinds
        """Return the cell of a text, or the cells of a list, for each group (see `encoded`)."""
        return self.encoded(self.numbers(answer), inputs)

    def encoded(self, numbers: Sequence[int], inputs: int) -> tuple[Any, ...]:
        """Return the channel's input for the integers that represent an answer's texts.

        If `max_items` is 1, the input has one cell for each group. Otherwise, the input has
        `max_items` different cells for each group: the cells of the texts in ascending order, then
        dummies.
        """
        by_text = [self.cells_of(number, inputs) for number in numbers]
        if self.max_items == 1:
            return by_text[0]
        by_group = [sorted({cells[place] for cells in by_text}) for place in range(len(self.groups(inputs)))]
        first = inputs - self.dummies
        return tuple((*own, *range(first, first + self.max_items - len(own))) for own in by_group)

    def law(self, answer: object, inputs: int) -> Law:
        """Map the only possible input for an answer to its probability, which is 1."""
        return {self.encoded(self.numbers(answer), inputs): Fraction(1)}

    def draw(self, inputs: int, coins: Coins) -> tuple[Any, ...]:
        """Return random cells for each group, to replace an invalid answer.

        For lists, the drawn cell is followed by the next cells, modulo ``inputs``.
        """
        firsts = [coins.below(inputs) for _ in self.groups(inputs)]
        if self.max_items == 1:
            return tuple(firsts)
        return tuple(tuple((first + step) % inputs for step in range(self.max_items)) for first in firsts)

    def numbers(self, answer: object) -> list[int]:
        """Return the integers that represent an answer's texts.

        The integers are in ascending order, without duplicates.

        Raises:
            DomainError: if `max_items` is 1, and the answer is not a text; if `max_items` is
                larger, and the answer is not a set, list or tuple of up to `max_items` different
                texts; or if a text has an unlisted letter, and `other` is None.
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
        """Return the integer that represents a text. The highest bits encode the first letter."""
        if not isinstance(text, str):
            raise DomainError
        spelled = _as_bytes(text) if self.letters == BYTES else text
        other, number = self._codes.get(self.other or ""), 0
        for letter in spelled[: self.max_length]:
            code = self._codes.get(letter, other)
            if code is None:
                raise DomainError
            number = number << self.letter_bits | code
        return number << self.letter_bits * max(0, self.max_length - len(spelled))

    def text_of(self, number: int) -> str:
        """Return the text that an integer represents.

        A text of the maximum length may have been cut.
        """
        code = (1 << self.letter_bits) - 1
        codes = (number >> shift & code for shift in reversed(range(0, self.bits, self.letter_bits)))
        return "".join(self.letters[code - 1] for code in codes if code)

    def label_of(self, number: int) -> str:
        """Return the printable text that an integer represents.

        If the text may have been cut, `CUT` is appended.
        """
        spelled = self.text_of(number)
        text = _shown(spelled) if self.letters == BYTES else spelled
        return text + CUT if len(spelled) == self.max_length else text

    def cells_of(self, number: int, cells: int) -> tuple[int, ...]:
        """Return, for each group, the cell of the text that ``number`` represents."""
        bits, without_dummies = self.bits, cells - self.dummies
        return tuple(group.cell(number >> bits - group.bits, without_dummies) for group in self.groups(cells))

    def parse(self, cell: str) -> object:
        """Return the text in a table cell, or the texts if an answer is a list."""
        if self.max_items == 1:
            return cell
        return [text.strip() for text in cell.split(MEMBERS_APART) if text.strip()]

    def truth(self, answer: object) -> object:
        """Return the printable text of an answer, or the texts of a list in a fixed order."""
        labels = tuple(map(self.label_of, self.numbers(answer)))
        return labels if self.max_items > 1 else labels[0]

    def extremes(self, *, midpoint: bool = False) -> Sequence[NamedAnswer]:  # noqa: ARG002 used by kinds of numbers
        """Return an empty text, the first letter, that letter repeated, and the last letter."""
        first, last = self.letters[0], self.letters[-1]
        texts = dict.fromkeys(("", first, first * self.max_length, last))
        return tuple(NamedAnswer(text if self.max_items == 1 else [text], text or "the empty text") for text in texts)

    def statement(self, asked: AskedMetric, say: Sentences) -> Iterator[str]:
        """Yield sentences for users about the reported part of a text, and about its protection."""
        unit, cells = "bytes" if self.letters == BYTES else "letters", asked.inputs
        if self.max_items == 1:
            yield say(f"statement.text.{unit}", length=self.max_length)
        else:
            yield say(f"statement.text.{unit}_of_some", length=self.max_length, texts=self.max_items)
        yield say("statement.text.leaves", cells=cells)
        yield say("statement.text.group", groups=len(self.groups(cells)))
        if self.discover:
            yield say("statement.text.found")
            yield say("statement.text.alone")
        else:
            yield say("statement.text.thought_of")
        yield say("statement.text.guess")
        if self.other is not None:
            yield say("statement.other_letter", letters=escaped(self.letters), other=escaped(self.other))

    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:  # noqa: ARG002
        """Describe a symbol in words: its group, and how many cells are most likely."""
        group, point = divmod(symbol, channel.inputs)
        held = cast("GroupedGeometry", channel).points.orthogonal  # no other channel has texts as inputs
        return say("reported.texts", held=held, cells=channel.inputs, point=str(point), group=str(group))

    @property
    def python_type(self) -> str:
        """The type of an answer: a text, or a collection of texts."""
        return "str" if self.max_items == 1 else "AbstractSet[str] | list[str] | tuple[str, ...]"


def _as_bytes(text: str) -> str:
    """Return a text that has one letter for each byte of ``text`` in UTF-8."""
    try:
        return text.encode().decode("latin-1")
    except UnicodeEncodeError:
        raise DomainError from None


def _shown(spelled: str) -> str:
    r"""Return on one line the text whose UTF-8 bytes are the letters of ``spelled``.

    Invalid bytes, such as those of a cut character, are written as ``\xc3``, and control characters
    as ``\u{a}``. Backslashes and `CUT` are also escaped, so that no two texts look the same.
    """
    text = spelled.encode("latin-1").decode(errors="surrogateescape")
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
def _groups(letters: str, max_length: int, cells: int, discover: bool) -> tuple[Group, ...]:  # noqa: FBT001 part of the cache key
    """Return a metric's groups.

    The groups are cached, so that the hashes are not derived again for each answer.
    """
    return groups_of(letters, max_length, cells, discover=discover)
