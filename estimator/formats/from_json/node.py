"""What stands in a JSON document, read strictly: a mistake is named by its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from estimator.errors import ReportError

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a JSON document.

    Attributes:
        raw: the value.
        place: where it stands, such as ``metrics[3].mean``; empty for the document itself.

    """

    raw: Any
    place: str = ""

    def __getitem__(self, name: str) -> Node:
        """Return a member of an object."""
        return Node(self.raw[name], f"{self.place}.{name}" if self.place else name)

    def __contains__(self, name: str) -> bool:
        """Whether an object has a member."""
        return name in self.raw

    def object(self, required: Iterable[str], optional: Iterable[str] = ()) -> Node:
        """Return this object, which must have all members that are required, and no others but optional ones."""
        must, may = set(required), set(optional)
        if type(self.raw) is not dict or not must <= self.raw.keys() <= must | may:
            also = f" and perhaps {', '.join(sorted(may))}" if may else ""
            raise self.error(f"must be an object with {', '.join(sorted(must))}{also}")
        return self

    def items(self) -> list[Node]:
        """Return the items of a list."""
        if type(self.raw) is not list:
            raise self.error("must be a list")
        return [Node(item, f"{self.place}[{position}]") for position, item in enumerate(self.raw)]

    def text(self) -> str:
        """Return a text."""
        if type(self.raw) is not str:
            raise self.error("must be a text")
        return self.raw

    def truth(self) -> bool:
        """Return a truth value."""
        if type(self.raw) is not bool:
            raise self.error("must be true or false")
        return self.raw

    def integer(self) -> int:
        """Return a whole number that is not negative."""
        if type(self.raw) is not int or self.raw < 0:
            raise self.error("must be a whole number from 0 on")
        return self.raw

    def number(self) -> float:
        """Return a number."""
        if type(self.raw) not in (int, float):
            raise self.error("must be a number")
        return float(self.raw)

    def or_none(self, read: Callable[[Node], Found]) -> Found | None:
        """Return what a function reads here; none where null stands."""
        return None if self.raw is None else read(self)

    def error(self, problem: str) -> ReportError:
        """Return the error that names a problem of this value."""
        return ReportError(f"{self.place or 'it'} {problem}")
