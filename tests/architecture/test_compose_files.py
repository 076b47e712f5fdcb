"""The compose files name only what exists, and confine every service as far as possible."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from collector.commands.cli import cli as collector
from collector.embedded.store import SETTINGS
from estimator.commands.cli import command as estimator
from tests.support.core.schemas import refused
from tests.support.services.composed import FOLDER, Service, project
from tests.support.services.images import ROOT, instructions
from tests.support.services.rights import RULES, RULES_ON_A_CLUSTER, USER

FILES = ("compose.yaml", "compose.cluster.yaml", "compose.relay.yaml")
SERVICES = [(file, name, service) for file in FILES for name, service in project(file)["services"].items()]
PROGRAMS: dict[str, click.Group] = {"hearsay-collector": collector, "hearsay-estimator": estimator}
EVERY = pytest.mark.parametrize(
    ("file", "name", "service"), SERVICES, ids=[f"{file}:{name}" for file, name, _ in SERVICES]
)
PINNED = re.compile(r"[a-z/-]+:v?\d+\.\d+\.\d+(-slim)?(-bookworm)?")


def test_there_are_services() -> None:
    assert {name for _, name, _ in SERVICES} >= {
        "collector-1",
        "collector-2",
        "store",
        "proxy",
        "report",
        "relay",
        "form",
    }


@EVERY
def test_a_service_has_no_rights_and_an_image_of_one_version(file: str, name: str, service: Service) -> None:
    assert PINNED.fullmatch(service["image"]), (file, name)
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert "privileged" not in service
    user = service.get("user") or dockerfile_of(service)["USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert service.get("healthcheck") or "HEALTHCHECK" in dockerfile_of(service)


@EVERY
def test_what_a_service_names_is_defined(file: str, name: str, service: Service) -> None:
    whole = project(file)
    for kind in ("secrets", "networks"):
        assert set(service.get(kind, ())) <= set(whole[kind]), (name, kind)
    sources = [volume.partition(":")[0] for volume in service.get("volumes", ())]
    for source in sources:
        written_by_operator = source == "./config"
        assert written_by_operator or source in whole.get("volumes", {}) or (FOLDER / source).exists(), source
    assert set(service.get("depends_on", ())) <= set(whole["services"])
    for path in re.findall(r"/run/secrets/(\w+)", f"{service.get('command')} {service.get('environment')}"):
        assert path in service["secrets"]
    for mounted in (FOLDER / source for source in sources if source.endswith(".conf")):
        for path in re.findall(r"/run/secrets/(\w+)", mounted.read_text(encoding="utf-8")):
            assert name == "form" or path in service["secrets"], (name, path)


@EVERY
def test_a_command_is_one_and_its_variables_are_read(file: str, name: str, service: Service) -> None:
    if "build" not in service:  # of other projects
        return
    entry = re.search(r"hearsay-\w+", dockerfile_of(service)["ENTRYPOINT"])
    assert entry is not None, (file, name)
    chosen = PROGRAMS[entry.group()]
    words = [re.sub(r"\$\{\w+:\?[^}]*\}", "https://telemetry.example.com", word) for word in service["command"]]
    command: click.Command | None = chosen
    while isinstance(command, click.Group):
        command, words = command.get_command(click.Context(command), words[0]), words[1:]
    assert command is not None
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("HEARSAY_REDIS_URL_FILE", raising=False)
        command.make_context(name, words)
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / entry.group()[8:]).rglob("*.py"))
    for variable in service["environment"]:
        assert f'"{variable.removesuffix("_FILE")}"' in source, variable


@pytest.mark.slow
def test_the_files_are_valid_by_the_schema_of_compose(tmp_path: Path) -> None:
    assert refused("compose-spec", *(FOLDER / file for file in (*FILES, "common.yaml"))) == ""
    wrong = tmp_path / "compose.yaml"
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    wrong.write_text(text.replace("depends_on:", "depend_on:"), encoding="utf-8")
    assert "depend_on" in refused("compose-spec", wrong)


def test_the_store_is_set_as_the_embedded_one() -> None:
    lines = (line.split(maxsplit=1) for line in (FOLDER / "valkey.conf").read_text(encoding="utf-8").splitlines())
    settings = {name: value.strip('"') for name, value in lines if not name.startswith("#")}
    where = {"port", "unixsocketperm", "daemonize", "aof-load-truncated"}
    assert {name: settings.get(name) for name in SETTINGS.keys() - where} == {
        name: value for name, value in SETTINGS.items() if name not in where
    }


def test_the_collectors_user_has_the_rights_of_the_page() -> None:
    users = dict(
        line.removeprefix("user ").split(" ", 1)
        for line in (FOLDER / "users.example.acl").read_text(encoding="utf-8").splitlines()
    )
    granted = users[USER].replace("COLLECTOR_PASSWORD", "PASSWORD").split()
    assert granted == [*RULES, *RULES_ON_A_CLUSTER]


def names_on(network: str, file: str) -> dict[str, set[str]]:
    """Return the services that Docker's names of a network lead to."""
    found: dict[str, set[str]] = {}
    for name, service in project(file)["services"].items():
        networks = service.get("networks", {})
        if network in networks:
            settings = networks[network] if isinstance(networks, dict) else {}
            for called in (name, *settings.get("aliases", ())):
                found.setdefault(called, set()).add(name)
    return found


COLLECTORS = {"collector-1", "collector-2"}


@pytest.mark.parametrize(
    ("file", "upstream", "behind"),
    [
        ("compose.yaml", "upstream.conf", COLLECTORS),
        ("compose.cluster.yaml", "upstream.conf", COLLECTORS),
        ("compose.relay.yaml", "relay.upstream.conf", {"relay"}),
    ],
)
def test_the_proxy_stands_before_the_names_that_are_given(file: str, upstream: str, behind: set[str]) -> None:
    (name,) = re.findall(r"server (\S+):8080", (FOLDER / upstream).read_text(encoding="utf-8"))
    assert names_on("front", file)[name] == behind
    if file != "compose.relay.yaml":
        command = project(file)["services"]["report"]["command"]
        assert command[command.index("--collector") + 1] == f"http://{name}:8080"


def test_every_master_of_the_cluster_has_two_replicas_and_every_node_is_found_by_name() -> None:
    services = project("compose.cluster.yaml")["services"]
    nodes = names_on("back", "compose.cluster.yaml")["store"]
    addresses = [services[name]["networks"]["back"]["ipv4_address"] for name in sorted(nodes)]
    joined = services["form"]["command"]
    assert [word.removesuffix(":6379") for word in joined if word.endswith(":6379")] == addresses
    replicas = int(joined[joined.index("--cluster-replicas") + 1])
    assert (len(addresses), replicas) == (9, 2)


def test_no_other_service_has_an_address_of_its_own() -> None:
    texts = {file: (FOLDER / file).read_text(encoding="utf-8") for file in (*FILES, "common.yaml", "upstream.conf")}
    assert [file for file, text in texts.items() if re.search(r"\b10\.", text)] == ["compose.cluster.yaml"]


def test_grafana_finds_its_prometheus_and_its_dashboard() -> None:
    services = project("compose.yaml")["services"]
    provisioning = FOLDER / "monitoring" / "grafana"
    (source,) = yaml.safe_load((provisioning / "datasources" / "prometheus.yaml").read_text("utf-8"))["datasources"]
    assert source["url"].removeprefix("http://").partition(":")[0] in names_on("front", "compose.yaml")
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "hearsay.yaml").read_text("utf-8"))["providers"]
    mounted = dict(volume.split(":")[:2][::-1] for volume in services["grafana"]["volumes"])
    assert mounted["/etc/grafana/provisioning"] == "./monitoring/grafana"
    (dashboard,) = (path for path in mounted if Path(path).parent == Path(provider["options"]["path"]))
    assert mounted[dashboard] == "./monitoring/dashboard.json"
    assert {services[name]["profiles"][0] for name in ("grafana", "prometheus")} == {"monitoring"}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.Dockerfile")), ids=lambda path: path.name)
def test_an_image_is_of_one_version_and_needs_no_shell(file: Path) -> None:
    parts = instructions(file)
    for part in parts:
        if part.name == "FROM":
            assert PINNED.fullmatch(part.text.split()[0])
        if part.name in ("RUN", "CMD", "ENTRYPOINT"):
            assert part.words
    version = re.search(
        r'^version = "([^"]*)"', (ROOT / "client_sdk" / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert version is not None
    labels = next(part.text for part in parts if part.name == "LABEL")
    assert f'image.version="{version.group(1)}"' in labels


def dockerfile_of(service: Service) -> dict[str, Any]:
    file = ROOT / service["build"]["dockerfile"]
    return {part.name: part.text for part in instructions(file)}
