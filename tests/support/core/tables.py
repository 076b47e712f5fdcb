"""A table of cases in one test: every case is run, and each that fails is named with its values."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def for_each(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test once for each of the cases, which are values of one name or tuples of several.

    Takes its arguments as ``pytest.mark.parametrize`` does, which makes a test of each case: take
    that where a case needs a fixture of its own, or a mark.
    """
    arguments = [name.strip() for name in names.split(",")]
    table = [dict(zip(arguments, case if len(arguments) > 1 else (case,), strict=True)) for case in cases]

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def whole(**others: Any) -> None:
            assert table, "the table has no case"
            failures: list[BaseException] = []
            for values in table:
                try:
                    test(**values, **others)
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 raised below, with the others
                    failure.add_note(", ".join(f"{name} = {value!r:.300}" for name, value in values.items()))
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} cases failed", failures)

        signature = inspect.signature(test)
        remaining = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        whole.__signature__ = signature.replace(parameters=remaining)  # type: ignore[attr-defined]
        return whole

    return decorated
