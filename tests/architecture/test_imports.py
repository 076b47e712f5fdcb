"""Who may import what, read from the source: the arrows of DESIGN, no weak randomness, no clock or
libm in the vocabulary.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import client_sdk
from client_sdk import protocol
from tools.import_graph import named_modules, syntax

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("client_sdk", "collector", "estimator")
PRODUCT = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
PROTOCOL = [path for path in PRODUCT if path.is_relative_to(ROOT / "client_sdk" / "protocol")]

NOT_IN_PROTOCOL = {"random", "secrets", "time", "os", "socket", "sqlite3", "threading", "logging", "subprocess", "uuid"}
"""No randomness, no clock, no IO: they are arguments. Only Registry.load uses ``pathlib``."""

AT_ITS_EDGE = {
    "client_sdk/protocol/registry/differences.py": {"subprocess"},  # asks git for a registry of another revision
    "client_sdk/protocol/registry/registry.py": {"logging"},  # Registry.load logs what a check would refuse
    "client_sdk/protocol/wire/failure.py": {"os"},  # the system's own words for a full disk
}
"""What a file of the vocabulary imports all the same."""

NOT_CALLED_IN_PROTOCOL = {
    *("math.exp", "math.log", "math.log2", "math.expm1", "math.log1p", "math.pow", "math.sqrt"),
    *("datetime.now", "datetime.utcnow", "datetime.today", "date.today", "open", "print", "float.fromhex"),
}
"""libm differs between machines; a clock would make a function of the vocabulary impure."""

CALLED_AT_ITS_EDGE = {"client_sdk/protocol/registry/registry.py": {"datetime.now"}}
"""Registry.load reads a file and, unless it is told, the day for which it warns."""

ONLY_IMPORTERS = {
    "requests": {"client_sdk/sending/transport.py", "collector/relay/forward.py"},
    "redis": {
        *(f"collector/redis_servers/{name}.py" for name in ("connection", "connections", "router", "server")),
        "collector/store/shards.py",
    },
    "prometheus_client": {"collector/prometheus.py", "estimator/render/openmetrics.py"},
}

UNDECLARED: dict[str, set[str]] = {
    "client_sdk": {"click"},  # an app whose commands it makes has it
    "collector": {"werkzeug", "_typeshed"},  # the first comes with Flask; the second is for checkers only
    "estimator": {"markupsafe", "pandas", "polars"},  # comes with Jinja; an analyst who wants frames has the others
}
EXTRAS = {"collector": ["collector"], "estimator": ["estimator", "parquet", "sklearn"]}

AUDIT, PUBLIC_SDK = "estimator/audit/black_box.py", "client_sdk"
"""The audit plays the SDK that apps embed, by its public names: the only other arrow between
packages.
"""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def top(module: str) -> str:
    return module.partition(".")[0]


@cache
def imported(path: Path) -> list[tuple[str, str]]:
    """Return the module and the name of every import of a file; the name is empty for a whole
    module.
    """
    names: list[tuple[str, str]] = []
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            names += ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: imports are absolute, so that arrows can be read"
            names += ((node.module or "", alias.name) for alias in node.names)
    return names + [(module, name) for module, name, _ in named_modules(syntax(path))]


@cache
def called(path: Path) -> frozenset[str]:
    return frozenset(ast.unparse(node.func) for node in ast.walk(syntax(path)) if isinstance(node, ast.Call))


@pytest.mark.parametrize(
    ("source", "module"),
    [
        (
            "def show(self):\n    return import_module('estimator.render.words').answer_of(self)",
            "estimator.render.words",
        ),
        ("importlib.import_module('estimator.api')", "estimator.api"),
        ("text = __import__('estimator.words').words", "estimator.words"),
        ("COMMANDS = {'plan': 'estimator.commands.plan:plan'}", "estimator.commands.plan"),
    ],
)
def test_a_module_that_is_imported_by_its_name_is_seen(source: str, module: str) -> None:
    assert [named for named, *_ in named_modules(ast.parse(source))] == [module]


def test_there_is_something_to_look_at() -> None:
    assert len(PROTOCOL) > 10
    assert {path.relative_to(ROOT).parts[0] for path in PRODUCT} == set(PACKAGES)


@pytest.mark.slow
def test_the_vocabulary_imports_only_the_standard_library_and_itself() -> None:
    """And of it no clock, no coins and no files: a registry is loaded at its edge."""
    assert [
        f"{name_of(path)} imports {module}"
        for path in PROTOCOL
        for module, _ in imported(path)
        if not module.startswith("client_sdk.protocol")
        and (
            top(module) not in sys.stdlib_module_names
            or top(module) in NOT_IN_PROTOCOL - AT_ITS_EDGE.get(name_of(path), set())
        )
    ] == []


def test_the_vocabulary_calls_no_libm_and_no_clock() -> None:
    for path in PROTOCOL:
        assert called(path) & NOT_CALLED_IN_PROTOCOL == CALLED_AT_ITS_EDGE.get(name_of(path), set()), path
        assert not {f"{module}.{name}" for module, name in imported(path)} & NOT_CALLED_IN_PROTOCOL, path


@pytest.mark.slow
def test_some_foreign_libraries_have_few_importers() -> None:
    assert [
        f"{name_of(path)} imports {module}"
        for path in PRODUCT
        for module, _ in imported(path)
        if name_of(path) not in ONLY_IMPORTERS.get(top(module), {name_of(path)})
    ] == []


@pytest.mark.slow
def test_no_product_code_uses_a_generator_that_is_not_the_operating_systems() -> None:
    """Except `numpy.random` in the estimator, which draws populations and no coins."""
    for path in PRODUCT:
        for module, name in imported(path):
            assert module != "random" or name == "SystemRandom", path
            assert not module.startswith("numpy.random") or path.is_relative_to(ROOT / "estimator"), path
        assert not [call for call in called(path) if call.startswith("random.")], path


def test_arrows_between_packages_go_to_the_vocabulary_only() -> None:
    for path in PRODUCT:
        own = path.relative_to(ROOT).parts[0]
        for module, name in imported(path):
            if (name_of(path), module) == (AUDIT, PUBLIC_SDK):
                assert name in client_sdk.__all__
            elif top(module) in PACKAGES and top(module) != own:
                assert f"{module}.{name}.".startswith("client_sdk.protocol."), f"{name_of(path)} imports {module}"


def test_a_name_of_the_vocabulary_is_imported_from_where_it_is_defined() -> None:
    """The roof of the vocabulary imports all of it; a module that needs one word shows which."""
    assert [
        f"{name_of(path)} imports {name}"
        for path in PRODUCT
        for module, name in imported(path)
        if module == "client_sdk.protocol" and name in protocol.__all__
    ] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_the_libraries_that_its_distribution_names(package: str) -> None:
    foreign = {
        top(module)
        for path in PRODUCT
        if path.is_relative_to(ROOT / package)
        for module, _ in imported(path)
        if top(module) not in {*sys.stdlib_module_names, *PACKAGES}
    }
    declared = {library.replace("-", "_").replace("scikit_learn", "sklearn") for library in libraries(package)}
    assert foreign <= declared | UNDECLARED[package]


def libraries(package: str) -> set[str]:
    """Return the distributions that a package may import, by its own pyproject.toml."""
    if package == "client_sdk":
        required: list[str] = pyproject(ROOT / "client_sdk")["project"]["dependencies"]
    else:
        extras = pyproject(ROOT)["project"]["optional-dependencies"]
        required = [line for extra in EXTRAS[package] for line in extras[extra]]
    return {re.split(r"[^\w-]", line)[0] for line in required}


def pyproject(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
