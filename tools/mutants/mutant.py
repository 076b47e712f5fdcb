"""Mutants: copies of a module with one small fault, made by cosmic-ray or this module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.tree import Leaf, NodeOrLeaf

from tools.trusted_core import PACKAGE, ROOT, listed

MEASURED: Final = (
    "client_sdk/protocol/**/*.py",
    "client_sdk/ledger/*.py",
    "collector/judge*.py",
    "collector/store/*.py",
)
"""The measured modules besides the trusted core."""

NEEDS_ARGUMENTS: Final = {"VariableReplacer", "VariableInserter"}
"""The unused operators of cosmic-ray, which need names of variables as arguments."""

LOGGING: Final = re.compile(r"(_log\.\w+|warn)\(")

IN_TEXT: Final = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "~=", "~=": "==", "+": "-", "DESC": "ASC",
    "AND": "OR", "OR": "AND", "and": "or", "or": "and", "NOT": "", "not": "", "0": "1", "1": "0",
}  # fmt: skip
"""The words of SQL and Lua that `TextReplacer` replaces, with their replacements."""

STRUCTURE: Final = re.compile(
    "name|newline|endmarker|file_input|suite|funcdef|classdef|parameters|param|simple_stmt|expr_stmt|import_from|"
    "atom|atom_expr|trailer|arglist|argument|return_stmt|annassign|decorated"
)
"""The types of syntax nodes that no operator changes. Skipping these nodes saves time."""

PUNCTUATION: Final = frozenset("()[]{},:.=@") | {"->", "..."}

WORD: Final = re.compile(r"(?<=[\s(])(?:[<>]=?|[=~]=|\+|[A-Z]{2,4}|and|or|not|[01])(?=[\s),])")
COMMENT: Final = re.compile(r"(?<= )--.*|error_reply\('.*?'\)")
STATEMENT: Final = re.compile(r"^[rbfRBF]*\"+\s*(?:SELECT|INSERT|UPDATE|DELETE|AND|ORDER|ON)\b|redis\.call")


class TextReplacer(Operator):  # type: ignore[misc] # cosmic-ray has no types
    """An operator that replaces a word of SQL or Lua in a Python string."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Yield the position of each word that can be replaced."""
        for found in self._words(node):
            line, column = node.start_pos
            before = node.value[: found.start()].split("\n")
            at = (line + len(before) - 1, len(before[-1]) + (column if len(before) == 1 else 0))
            yield at, at

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        """Replace the word with this index."""
        found = self._words(node)[index]
        node.value = f"{node.value[: found.start()]}{IN_TEXT[found[0]]}{node.value[found.end() :]}"
        return node

    @staticmethod
    def _words(node: NodeOrLeaf) -> list[re.Match[str]]:
        if node.type not in {"string", "fstring_string"} or not STATEMENT.search(node.value):
            return []
        code = COMMENT.sub(lambda comment: "-" * len(comment[0]), node.value)
        return [found for found in WORD.finditer(code) if found[0] in IN_TEXT]

    @classmethod
    def examples(cls) -> Sequence[object]:
        """Return no examples, because the tests contain examples."""
        return ()


class Mutant(NamedTuple):
    """A module with one small fault. ``right`` is the original line, ``wrong`` the faulty line."""

    file: str
    line: int
    source: str
    right: str
    wrong: str

    @property
    def key(self) -> str:
        """An identifier of the mutant that does not depend on the file's other lines."""
        return f"{self.file}: {self.right} → {self.wrong}"


class Fault(NamedTuple):
    """A possible fault: an operator, the syntax node that it changes, and the place in the node."""

    operator: str
    node: NodeOrLeaf
    place: int
    at: tuple[int, int]


def files() -> list[str]:
    """Return the measured modules, including the trusted core."""
    core = {str((PACKAGE / module).relative_to(ROOT)) for module in listed()}
    return sorted(core | {str(path.relative_to(ROOT)) for pattern in MEASURED for path in ROOT.glob(pattern)})


def draw(seed: int, number: int, root: Path, names: Sequence[str]) -> Iterator[Mutant]:
    """Yield a number of mutants of randomly chosen lines.

    For one seed, the mutants of a small number are the first mutants of every larger number.
    """
    sources = {name: (root / name).read_text("utf-8") for name in names}
    lines = [(name, line) for name, source in sources.items() for line in range(1, source.count("\n") + 1)]
    Random(seed).shuffle(lines)  # noqa: S311 a sample
    found = (_one_of(Random(f"{seed} {name} {line}"), name, line, sources[name]) for name, line in lines)  # noqa: S311
    yield from islice(filter(None, found), number)


def _one_of(random: Random, name: str, line: int, source: str) -> Mutant | None:
    """Return a random valid mutant of a line that differs from the line, or None."""
    by_place: dict[tuple[int, int], list[Fault]] = {}
    for fault in _faults(source, line):
        by_place.setdefault(fault.at, []).append(fault)
    for faults in random.sample(list(by_place.values()), len(by_place)):
        for fault in random.sample(faults, len(faults)):
            wrong = mutate_code(source, OPERATORS[fault.operator], _occurrence(source, fault))
            with suppress(SyntaxError):
                if wrong is not None and ast.dump(ast.parse(wrong)) != ast.dump(ast.parse(source)):
                    return Mutant(name, line, wrong, *(_line(text, line) for text in (source, wrong)))
    return None


def _line(source: str, number: int) -> str:
    return " ".join(source.splitlines()[number - 1].split())


@cache
def _nodes(source: str) -> list[NodeOrLeaf]:
    return list(ast_nodes(parso.parse(source)))


def _faults(source: str, line: int) -> Iterator[Fault]:
    for node in _nodes(source):
        if node.start_pos[0] <= line <= node.end_pos[0] and _may_change(node):
            for name, operator in OPERATORS.items():
                for index, (at, _) in enumerate(operator.mutation_positions(node)):
                    if at[0] == line and not _is_skipped(node):
                        yield Fault(name, node, index, at)


def _occurrence(source: str, fault: Fault) -> int:
    """Return the index of a fault among all faults of its operator, as cosmic-ray counts them."""
    positions = OPERATORS[fault.operator].mutation_positions
    before = takewhile(lambda node: node is not fault.node, _nodes(source))
    return fault.place + sum(len([*positions(node)]) for node in before)


def _may_change(node: NodeOrLeaf) -> bool:
    """Return False if surely no operator applies to a node. This saves time."""
    return not STRUCTURE.fullmatch(node.type) and getattr(node, "value", "") not in PUNCTUATION


def _is_skipped(node: NodeOrLeaf) -> bool:
    """Return whether a node is in an annotation, a logging call or code for type checkers."""
    while (parent := node.parent) is not None:
        before = node.get_previous_sibling()
        if parent.type in {"annassign", "tfpdef"} and isinstance(before, Leaf) and before.value == ":":
            return True
        if parent.type == "funcdef" and node is parent.annotation:
            return True
        if parent.type == "parameters" and node.type == "operator":
            return True
        code = node.get_code(include_prefix=False)
        if code.startswith("if TYPE_CHECKING:") or (node.type == "expr_stmt" and ": TypeAlias = " in code):
            return True
        if node.type in {"atom_expr", "power"} and LOGGING.match(code):
            return True
        node = parent
    return False


OPERATORS: Final = {name: OperatorProvider()[name]() for name in OperatorProvider() if name not in NEEDS_ARGUMENTS} | {
    "TextReplacer": TextReplacer()
}
