"""Who may import what, read from the source: the arrows of DESIGN, no weak randomness, no clock or
libm in the vocabulary.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from functools import cache
from pathlib import Path

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
        *(f"collector/redis_servers/{name}.py" for name in ("connection", "connections", "log_rewrite")),
        *(f"collector/redis_servers/{name}.py" for name in ("copies_on_disk", "failure", "probe", "router")),
        "collector/store/shards.py",
    },
    "prometheus_client": {"collector/monitoring/prometheus.py"},
}

AUDIT, PUBLIC_SDK = "estimator/audit/black_box.py", "client_sdk"
"""The audit plays the SDK that apps embed, by its public names: the only other arrow between
packages.
"""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


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
            "def show(self):\n    return import_module('estimator.render.summary').summary(self)",
            "estimator.render.summary",
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


@pytest.mark.parametrize("path", PROTOCOL, ids=name_of)
def test_the_vocabulary_imports_only_the_standard_library_and_itself(path: Path) -> None:
    for module, _ in imported(path):
        assert module.startswith("client_sdk.protocol") or module.partition(".")[0] in sys.stdlib_module_names, module
        assert module.partition(".")[0] not in NOT_IN_PROTOCOL - AT_ITS_EDGE.get(name_of(path), set()), module


@pytest.mark.parametrize("path", PROTOCOL, ids=name_of)
def test_the_vocabulary_calls_no_libm_and_no_clock(path: Path) -> None:
    assert called(path) & NOT_CALLED_IN_PROTOCOL == CALLED_AT_ITS_EDGE.get(name_of(path), set())
    names = {f"{module}.{name}" for module, name in imported(path)}
    assert not names & NOT_CALLED_IN_PROTOCOL


@pytest.mark.parametrize("path", PRODUCT, ids=name_of)
def test_a_foreign_library_has_one_importer_a_package(path: Path) -> None:
    for module, _ in imported(path):
        importers = ONLY_IMPORTERS.get(module.partition(".")[0])
        assert importers is None or name_of(path) in importers, f"{module} belongs to {importers}"


@pytest.mark.parametrize("path", PRODUCT, ids=name_of)
def test_no_product_code_uses_a_generator_that_is_not_the_operating_systems(path: Path) -> None:
    for module, name in imported(path):
        assert module != "random" or name == "SystemRandom", "from random import SystemRandom is the one way"
        assert not module.startswith("numpy.random") or path.is_relative_to(ROOT / "estimator")
    assert not [call for call in called(path) if call.startswith("random.")]


@pytest.mark.parametrize("path", PRODUCT, ids=name_of)
def test_arrows_between_packages_go_to_the_vocabulary_only(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    for module, name in imported(path):
        package = module.partition(".")[0]
        if (name_of(path), module) == (AUDIT, PUBLIC_SDK):
            assert name in client_sdk.__all__
        elif package in PACKAGES and package != own:
            assert f"{module}.{name}.".startswith("client_sdk.protocol."), f"{name_of(path)} imports {module}"


@pytest.mark.parametrize("path", PRODUCT, ids=name_of)
def test_a_name_of_the_vocabulary_is_imported_from_where_it_is_defined(path: Path) -> None:
    """The roof of the vocabulary imports all of it; whoever needs one word should show which."""
    names = [name for module, name in imported(path) if module == "client_sdk.protocol"]
    assert [name for name in names if name in protocol.__all__] == []


def test_the_contracts_name_every_module_of_the_sdk_that_the_others_may_not_import() -> None:
    """Without this, a new module of client_sdk would be open to the collector until somebody adds
    it to the contract.
    """
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    names = {
        path.relative_to(ROOT / "client_sdk").parts[0].removesuffix(".py")
        for path in PRODUCT
        if "client_sdk" in path.parts
    }
    private = {f"client_sdk.{name}" for name in names - {"__init__", "protocol"}}
    for source in ("collector", "estimator"):
        forbidden = {
            module
            for contract in contracts
            if source in contract.get("source_modules", [])
            for module in contract["forbidden_modules"]
        }
        assert private <= forbidden, f"{source} may import {sorted(private - forbidden)}"
