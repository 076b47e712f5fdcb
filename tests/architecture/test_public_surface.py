"""What is public is what ``__all__`` says."""

from __future__ import annotations

from types import ModuleType

from client_sdk import spec


def test_all_of_the_vocabulary_is_its_public_names() -> None:
    public = {
        name for name, value in vars(spec).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert set(spec.__all__) == public


def test_all_of_the_vocabulary_is_sorted_constants_first_and_names_nothing_twice() -> None:
    assert list(spec.__all__) == sorted(set(spec.__all__), key=lambda name: (not name.isupper(), name))


def test_every_class_of_the_vocabulary_says_what_it_is() -> None:
    for name in spec.__all__:
        value = getattr(spec, name)
        assert not isinstance(value, type) or value.__doc__, name
