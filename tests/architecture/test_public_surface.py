"""What is public is what ``__all__`` says."""

from __future__ import annotations

import re
import subprocess
import sys
from types import ModuleType

import estimator
from client_sdk import protocol


def test_all_of_the_vocabulary_is_its_public_names() -> None:
    public = {
        name
        for name in dir(protocol)
        if not name.startswith("_") and not isinstance(getattr(protocol, name), ModuleType)
    }
    assert set(protocol.__all__) == public


def test_all_of_the_vocabulary_is_sorted_constants_first_and_names_nothing_twice() -> None:
    assert list(protocol.__all__) == sorted(set(protocol.__all__), key=lambda name: (not name.isupper(), name))


def test_every_class_of_the_vocabulary_says_what_it_is() -> None:
    for name in protocol.__all__:
        value = getattr(protocol, name)
        assert not isinstance(value, type) or value.__doc__, name


def test_the_public_names_of_the_estimator_are_there_and_say_what_they_are() -> None:
    assert list(estimator.__all__) == sorted(estimator.__all__)
    for name in estimator.__all__:
        assert getattr(estimator, name).__doc__, name
        assert name in dir(estimator)


def test_the_example_of_the_estimator_uses_public_names() -> None:
    used = set(re.findall(r"estimator\.(\w+)\(", estimator.__doc__ or ""))
    assert used == {"estimate", "load_report", "to_pandas"} <= set(estimator.__all__)


def test_importing_the_estimator_imports_nothing_heavy() -> None:
    heavy = "{'click', 'numpy', 'pandas', 'polars', 'pyarrow'}"
    script = f"import sys, estimator; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
