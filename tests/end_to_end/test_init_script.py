"""docker/init.sh writes what the compose files mount.

The tests of what they start run on its files.
"""

from __future__ import annotations

import re
import ssl
import stat
import subprocess
from pathlib import Path

import pytest

from collector.access import Role, digest_of, load_access
from tests.support.services.composed import initialized, project
from tests.support.services.processes import run_command

FILES = ("compose.yaml", "compose.cluster.yaml")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def again(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_command([str(folder / "init.sh"), *words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return initialized(tmp_path)


def test_every_file_that_compose_mounts_is_there_but_for_the_registry(folder: Path) -> None:
    mounted = {secret["file"].removeprefix("./") for file in FILES for secret in project(file)["secrets"].values()}
    assert contents(folder).keys() == mounted | {"config/access.toml", "init.sh", "users.example.acl"}
    assert len(mounted) == 9


def test_users_of_containers_may_read_and_others_may_not(folder: Path) -> None:
    modes = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in ("config", "secrets")}
    assert modes == {"config": 0o755, "secrets": 0o700}
    written = [*(folder / "config").iterdir(), *(folder / "secrets").iterdir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o644}


def test_the_token_is_that_of_the_key_and_every_secret_is_another(folder: Path) -> None:
    (key,) = load_access(folder / "config/access.toml").keys
    token = (folder / "secrets/read_token").read_text().strip()
    assert (key.role, key.digest) == (Role.READ, digest_of(token))
    users = (folder / "secrets/store_users").read_text()
    passwords = re.findall(r"^user (\w+) on >([0-9a-f]{64}) ", users, re.MULTILINE)
    assert [user for user, _ in passwords] == ["hearsay", "backup", "restore", "replica", "admin"]
    grafana = (folder / "secrets/grafana_password").read_text().strip()
    assert len({password for _, password in passwords} | {token, grafana}) == 7
    by_user = dict(passwords)
    assert (folder / "secrets/store_url").read_text() == f"redis://hearsay:{by_user['hearsay']}@store:6379\n"
    for user in ("backup", "restore"):
        assert (folder / f"secrets/{user}_url").read_text() == f"redis://{user}:{by_user[user]}@store:6379\n"
    replication = f"primaryuser replica\nprimaryauth {by_user['replica']}\n"
    assert (folder / "secrets/store_replication").read_text() == replication


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ((), [("DNS", "localhost")]),
        (("telemetry.example.com",), [("DNS", "telemetry.example.com")]),
        (("192.0.2.7",), [("IP Address", "192.0.2.7")]),
        (("2001:db8::7",), [("IP Address", "2001:DB8:0:0:0:0:0:7")]),
    ],
)
def test_the_certificate_is_of_the_host_and_fits_its_key(
    tmp_path: Path, host: tuple[str, ...], names: list[tuple[str, str]]
) -> None:
    secrets = initialized(tmp_path, *host) / "secrets"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(secrets / "tls_certificate", secrets / "tls_key")
    context.load_verify_locations(secrets / "tls_certificate")
    (certificate,) = context.get_ca_certs()
    assert list(certificate["subjectAltName"]) == names


def test_nothing_is_overwritten_and_a_set_is_never_mixed(folder: Path) -> None:
    before = contents(folder)
    assert again(folder).returncode == 0
    assert contents(folder) == before
    (folder / "secrets/tls_key").unlink()
    (folder / "secrets/tls_certificate").unlink()
    assert again(folder, "other.example.com").returncode == 0
    after = contents(folder)
    assert {name for name in before if before[name] != after[name]} == {"secrets/tls_key", "secrets/tls_certificate"}
    (folder / "secrets/store_url").unlink()
    mixed = again(folder)
    assert (mixed.returncode, "but not secrets/store_url" in mixed.stderr) == (1, True)
    assert contents(folder) == {name: text for name, text in after.items() if name != "secrets/store_url"}


@pytest.mark.parametrize("words", [("a b",), ("--help",), ("--cluster",), ("x/y",), ("one", "two"), ("",)])
def test_a_host_that_is_none_is_refused(folder: Path, words: tuple[str, ...]) -> None:
    refused = again(folder, *words)
    assert (refused.returncode, refused.stderr) == (2, "usage: init.sh [HOST]\n")
