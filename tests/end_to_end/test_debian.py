"""A host that the commands of docs/reference/operating.md have set up.

The units' commands run, Debian's nginx with the shipped files, and devices. Two apps are on it:
production and staging of one program.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from client_sdk.protocol import Upload
from tests.support.services.collecting import REGISTRY_TEXT, report, today, upload
from tests.support.services.living_files import bytes_below
from tests.support.services.processes import free_port, run_command
from tests.support.services.proxy import ANSWER_TIMEOUT_S, Sites, running_sites
from tests.support.services.units import FOLDER, App, running_service
from tests.support.services.wire import tallies
from tools.tutorial import ROOT, blocks

pytestmark = pytest.mark.system

PAGE = ROOT / "docs" / "reference" / "operating.md"
_, INSTALL, NAME, *FOR_EACH_APP, _, _ = (block.text for block in blocks(PAGE))
SECTION = PAGE.read_text(encoding="utf-8").partition("\n## On Debian\n")[2].partition("\n## ")[0]
SECOND, _ = re.findall(r"^```text\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)

NAMES = {"notes": "notes.example.com", "notes-staging": "staging.example.com"}
CANARY_ADDRESS = "127.203.113.78"
LOOPBACKS = ("127.0.0.1", "::1")

OF_THE_HOST = ("apt-get", "certbot", "curl", "nginx", "systemctl", "python3", "pip")
"""Programs of the page that change this host, or need one with a name: they note their words."""


class Host(NamedTuple):
    """The host.

    Attributes:
        apps: its apps by their names.
        sites: its nginx.
        root: stands for the root of its file system.

    """

    apps: dict[str, App]
    sites: Sites
    root: Path

    def noted(self, program: str) -> list[str]:
        """Return the words with which a program of the page was started."""
        lines = (self.root / "noted").read_text(encoding="utf-8").splitlines()
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{program} ")]


def read_page(root: Path) -> None:
    """Run the commands of the page, on a root of the test's own, for two apps."""
    programs = root / "programs"
    programs.mkdir()
    for name in OF_THE_HOST:
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {root}/noted\n')
        (programs / name).chmod(0o755)
    shutil.copytree("/etc/nginx", root / "etc" / "nginx", symlinks=True)  # of Debian's package
    (root / "etc" / "systemd" / "system").mkdir(parents=True)
    (root / "opt").mkdir()
    (root / "usr" / "local" / "bin").mkdir(parents=True)
    free = {place: str(free_port()) for place in ("8080", "9090", "8081", "9091")}
    text = "\n".join([INSTALL, NAME, *FOR_EACH_APP, SECOND, *FOR_EACH_APP])
    text = text.replace("/etc/", f"{root}/etc/").replace("/opt/hearsay-0.1.0/bin/", "")
    text = text.replace(" /opt/", f" {root}/opt/").replace(" /usr/", f" {root}/usr/")
    for place, port in free.items():
        text = re.sub(rf"\b{place}$|\b{place}(?= )", port, text, flags=re.MULTILINE)
    folder = root / "checkout"
    folder.mkdir()
    for name in ("docs", "docker"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "metrics.toml").write_text(REGISTRY_TEXT, encoding="utf-8")
    done = run_command(["bash", "-euc", f"cd {folder}\n{text}"], PATH=f"{programs}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    root = tmp_path_factory.mktemp("root")
    read_page(root)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(root / "authority.pem"))
    for name in NAMES.values():
        issued = root / "etc" / "nginx" / "letsencrypt" / "live" / name
        issued.mkdir(parents=True)
        pair = authority.issue_cert(name)
        pair.private_key_pem.write_to_path(str(issued / "privkey.pem"))
        for part in pair.cert_chain_pems:
            part.write_to_path(str(issued / "fullchain.pem"), append=True)
    apps = {name: App(name, root) for name in NAMES}
    with contextlib.ExitStack() as running:
        for app in apps.values():
            running.enter_context(running_service(app))
        sites = running_sites(root / "etc" / "nginx", root / "authority.pem")
        yield Host(apps, running.enter_context(sites), root)


class Connection(http.client.HTTPSConnection):
    """A connection to an app's host name, which leads to this machine."""

    def __init__(self, host: Host, name: str, address: str = "127.0.0.1", source: str | None = None) -> None:
        self._place = (address, host.sites.proxy.port)
        self._source = None if source is None else (source, 0)
        self._trusted = ssl.create_default_context(cafile=str(host.sites.proxy.authority))
        super().__init__(NAMES[name], timeout=ANSWER_TIMEOUT_S)

    def connect(self) -> None:
        plain = socket.create_connection(self._place, ANSWER_TIMEOUT_S, self._source)
        self.sock = self._trusted.wrap_socket(plain, server_hostname=self.host)


def sent(host: Host, name: str, *uploads: Upload, address: str = "127.0.0.1", source: str | None = None) -> list[int]:
    """Send uploads to an app; return the statuses."""
    statuses = []
    with contextlib.closing(Connection(host, name, address, source)) as connection:
        for each in uploads:
            connection.request("POST", "/v1/reports", each.encode(), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
    return statuses


def test_the_page_starts_what_there_is(host: Host) -> None:
    units = {path.name for path in (host.root / "etc" / "systemd" / "system").iterdir()}
    assert units == {path.name for path in FOLDER.iterdir()}
    enabled = " ".join(words for words in host.noted("systemctl") if words.startswith("enable "))
    for name in NAMES:
        for unit in ("hearsay-collector@.service", "hearsay-report@.timer"):
            assert unit in units
            assert unit.replace("@", f"@{name}") in enabled
    asked = [shlex.split(words) for words in host.noted("certbot")]
    assert [words[words.index("--domain") + 1] for words in asked] == list(NAMES.values())
    assert "--constraint constraints.txt" in host.noted("pip")[0]
    for name in NAMES:
        token = host.root / "etc" / "hearsay" / name / "read-token"
        assert (stat.S_IMODE(token.stat().st_mode), len(token.read_text().strip())) == (0o600, 64)


def counted(host: Host, name: str) -> int:
    token = (host.root / "etc" / "hearsay" / name / "read-token").read_text().strip()
    return sum(sum(tally["counts"]) for tally in tallies(host.apps[name].url, "?preliminary=1", token))


def test_each_installation_counts_what_came_to_its_name_and_nothing_of_the_other(host: Host) -> None:
    same = upload(report(window=today()))
    assert sent(host, "notes", same, *(upload(report(window=today())) for _ in range(4))) == [200] * 5
    assert sent(host, "notes-staging", same, address="::1") == [200]  # the same id: it is new there
    assert [counted(host, name) for name in NAMES] == [5, 1]
    stores = [host.root / "var" / "lib" / "hearsay" / name for name in NAMES]
    assert all((store / "appendonlydir").is_dir() for store in stores)


def test_devices_come_by_both_protocols_of_the_internet_and_http_2(host: Host) -> None:
    port = str(host.sites.proxy.port)
    for address, version in ((address, version) for address in LOOPBACKS for version in ("1.1", "2")):
        shown = f"[{address}]" if ":" in address else address
        asked = run_command(
            [
                *("curl", "--silent", f"--http{version}", "--cacert", str(host.sites.proxy.authority)),
                *("--connect-to", f"notes.example.com:443:{shown}:{port}", "--write-out", "%{http_version} %{json}"),
                *("--output", "/dev/null", "https://notes.example.com/readyz"),
            ]
        )
        said, _, facts = asked.stdout.partition(" ")
        assert (said, json.loads(facts)["response_code"], json.loads(facts)["remote_ip"]) == (version, 200, address)


@pytest.mark.parametrize("address", LOOPBACKS)
def test_an_authority_finds_its_challenge_and_everybody_else_is_sent_to_https(host: Host, address: str) -> None:
    challenges = host.sites.proxy.folder / "www" / ".well-known" / "acme-challenge"
    challenges.mkdir(parents=True, exist_ok=True)
    (challenges / "token").write_text("token.thumbprint")

    def answer(path: str) -> tuple[int, bytes, str | None]:
        connection = http.client.HTTPConnection(address, host.sites.plain_port, timeout=ANSWER_TIMEOUT_S)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Host": NAMES["notes-staging"]})
            found = connection.getresponse()
            return found.status, found.read(), found.headers["Location"]

    assert answer("/.well-known/acme-challenge/token") == (200, b"token.thumbprint", None)
    status, _, location = answer("/v1/registry")
    assert (status, location) == (308, f"https://{NAMES['notes-staging']}/v1/registry")


def test_debians_own_logs_hold_no_address_of_a_device(host: Host) -> None:
    assert sent(host, "notes", upload(), source=CANARY_ADDRESS) == [200]
    with contextlib.closing(Connection(host, "notes", source=CANARY_ADDRESS)) as connection:
        connection.request("GET", "/nothing")
        assert connection.getresponse().status == 404
    for port in (host.sites.proxy.port, host.sites.plain_port):
        with socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT_S, (CANARY_ADDRESS, 0)) as plain:
            plain.sendall(b"\x16\x03\x01\x00\x05hello")
            plain.recv(100)
    assert CANARY_ADDRESS.encode() not in bytes_below(host.sites.proxy.folder)
    assert (host.sites.proxy.folder / "access.log").read_bytes() == b""


def test_the_nightly_job_of_an_installation_reads_its_own_collector(host: Host) -> None:
    app = host.apps["notes-staging"]
    done = run_command(app.command("hearsay-report"), **app.environment("hearsay-report"))
    assert done.returncode == 3, done.stderr  # no window has closed
