"""The public surface, and how little importing it costs."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import client_sdk
from tests.support.core.tables import for_each
from tests.support.devices.clients import run_python
from tests.support.devices.definitions import BOOLEAN, registry_text


def test_all_names_exactly_the_public_surface() -> None:
    public = {name for name in dir(client_sdk) if not name.startswith("_")}
    modules = {name for name in public if type(getattr(client_sdk, name)).__name__ == "module"}
    assert public - modules - {"TYPE_CHECKING", "import_module"} == set(client_sdk.__all__)
    assert client_sdk.__all__ == sorted(client_sdk.__all__)


@for_each("name", client_sdk.__all__)
def test_every_public_name_is_what_its_home_holds(name: str) -> None:
    home = importlib.import_module(f"client_sdk.{client_sdk._HOMES[name]}")
    assert getattr(client_sdk, name) is getattr(home, name)


def test_the_homes_are_those_of_the_public_names() -> None:
    assert sorted(client_sdk._HOMES) == client_sdk.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Telemetri'"):
        _ = client_sdk.Telemetri


@pytest.mark.parametrize("code", ["import client_sdk", "from client_sdk import Registry, Telemetry"])
def test_importing_loads_nothing_heavy(code: str) -> None:
    heavy = {"requests", "urllib3", "sqlite3", "tomllib", "socket", "numpy", "redis", "click", "secrets", "email"}
    heavy.add("client_sdk.protocol.horizon")
    loaded = run_python(f"{code}\nimport sys\nprint(*sys.modules)").split()
    assert heavy.isdisjoint(loaded)
    assert "client_sdk" in loaded


COMPILED = """
import sys
from typing import ForwardRef
from client_sdk import Registry, Telemetry
for name, module in sys.modules.items():
    if name.startswith("client_sdk") and not hasattr(module, "TYPE_CHECKING"):
        own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == name]
        fields = [kind for each in own if hasattr(each, "_fields") for kind in each.__annotations__.values()]
        print(name, any(isinstance(kind, ForwardRef) for kind in fields), len(fields))
"""


def test_importing_compiles_no_field_of_a_named_tuple_whose_type_can_be_evaluated() -> None:
    """With ``from __future__ import annotations``, `typing` compiles the text of each field."""
    modules = [line.split() for line in run_python(COMPILED).splitlines()]
    assert sum(int(fields) for _, _, fields in modules) > 50
    assert [name for name, is_compiled, _ in modules if is_compiled == "True"] == []


MISTAKEN = """
import logging, sys
sys.stderr = sys.stdout
{handler}
from client_sdk import Registry, Telemetry
registry = Registry.load("{path}")
Telemetry(registry, collector="http://127.0.0.1:9", data_dir=None, consent=True).record("typo", True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("handler", "received"),
    [("", set()), ("logging.basicConfig()", {"client_sdk", "client_sdk.protocol.registry.registry"})],
)
def test_what_is_for_developers_reaches_those_who_read_the_log_and_no_user_of_a_command(
    tmp_path: Path, handler: str, received: set[str]
) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(m=BOOLEAN | {"epsilon": 12}).replace("accept =", "# accept ="), encoding="utf-8")
    printed = run_python(MISTAKEN.format(handler=handler, path=path)).splitlines()
    assert {line.split(":")[1] for line in printed} == received
