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
from tests.support.services.composed import initialised, project
from tests.support.services.processes import run_command

FILES = ("compose.yaml", "compose.cluster.yaml")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def again(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_command([str(folder / "init.sh"), *words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return initialised(tmp_path)


def test_every_file_that_compose_mounts_is_there_but_for_the_registry(folder: Path) -> None:
    mounted = {secret["file"].removeprefix("./") for file in FILES for secret in project(file)["secrets"].values()}
    assert contents(folder).keys() == mounted | {"config/access.toml", "init.sh", "users.example.acl"}
    assert len(mounted) == 8


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
    assert len({password for _, password in passwords} | {token}) == 6
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
    secrets = initialised(tmp_path, *host) / "secrets"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(secrets / "tls_certificate", secrets / "tls_key")
    context.load_verify_locations(secrets / "tls_certificate")
    (certificate,) = context.get_ca_certs()
    assert list(certificate["subjectAltName"]) == names


def test_the_stores_address_is_the_clusters_if_that_is_asked_for(tmp_path: Path) -> None:
    secrets = initialised(tmp_path, "--cluster", "telemetry.example.com") / "secrets"
    nodes = project("compose.cluster.yaml")["services"]["store-1"]["networks"]["back"]
    for name in ("store_url", "backup_url", "restore_url"):
        assert (secrets / name).read_text().strip().endswith(f"@{nodes['ipv4_address']}:6379")


def test_the_cluster_takes_over_the_passwords_of_one_store_and_not_its_address(folder: Path) -> None:
    before = contents(folder)
    moved = again(folder, "--cluster")
    assert (moved.returncode, moved.stderr) == (0, "")
    after = contents(folder)
    urls = {"secrets/store_url", "secrets/backup_url"}
    assert {name for name in after if after[name] != before.get(name)} == urls
    for name in urls:
        assert after[name] == before[name].replace(b"@store:6379", b"@10.201.1.11:6379")
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o644
    refused = again(folder)
    assert (refused.returncode, "store_url is of the cluster: add --cluster" in refused.stderr) == (1, True)
    assert again(folder, "--cluster").returncode == 0
    assert contents(folder) == after


def test_an_address_of_the_operators_own_is_kept(folder: Path) -> None:
    own = "rediss://hearsay:secret@store.example.com:6380\n"
    (folder / "secrets/store_url").write_text(own)
    assert again(folder, "--cluster").returncode == 0
    assert (folder / "secrets/store_url").read_text() == own


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


@pytest.mark.parametrize("words", [("a b",), ("--help",), ("x/y",), ("one", "two"), ("",)])
def test_a_host_that_is_none_is_refused(folder: Path, words: tuple[str, ...]) -> None:
    refused = again(folder, *words)
    assert (refused.returncode, refused.stderr) == (2, "usage: init.sh [--cluster] [HOST]\n")
