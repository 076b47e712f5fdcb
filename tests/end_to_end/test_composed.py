"""What compose.yaml starts, started without Docker: the store and the collector with the shipped
settings.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from client_sdk.protocol import Verdict, Window, WindowKind
from collector.embedded.store import server_program
from collector.store.redis_store import RedisStore, agree_on_settings
from tests.support.services.collecting import judged, report, upload
from tests.support.services.composed import FOLDER, initialized, project
from tests.support.services.processes import free_port, run_command, running_collector, started, wait_until
from tests.support.services.wire import post


@dataclass
class Files:
    """The files that a store's container sees, and their place in this repository."""

    folder: Path
    port: int

    def written(self, name: str) -> Path:
        """Write a configuration adapted to this machine; return its path."""
        text = (FOLDER / name).read_text(encoding="utf-8")
        places = {
            "/etc/valkey/": f"{self.folder}/",
            "/run/secrets/": f"{self.folder}/",
            "dir /data": f"dir {self.folder}",
        }
        for place, here in (places | {"port 6379": f"bind 127.0.0.1\nport {self.port}"}).items():
            text = text.replace(place, here)
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.folder / name


@contextlib.contextmanager
def running_store(folder: Path, configuration: str) -> Iterator[int]:
    """Run the store of a compose file on its settings and users; yield its port."""
    files = Files(folder, free_port())
    for secret in (initialized(folder) / "secrets").iterdir():
        shutil.copy(secret, folder / secret.name)
    for name in ("valkey.conf", "valkey.cluster.conf"):
        files.written(name)
    command = [server_program(), str(folder / configuration)]
    # its second port would be 10,000 higher, which may not be a port
    if "cluster" in configuration:
        command += ["--cluster-port", str(free_port())]
    process = started(command, stdout=subprocess.DEVNULL)
    try:
        with redis.Redis(port=files.port) as anybody:
            wait_until(lambda: answers(anybody) or process.poll() is not None, what="the store")
            assert process.poll() is None
            with pytest.raises(redis.exceptions.NoPermissionError):
                anybody.get("anything")
        yield files.port
    finally:
        process.terminate()
        process.wait()


def url_here(file: Path, port: int) -> Path:
    """Let the URL that init.sh wrote name the store on this machine."""
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("@store:6379", f"@127.0.0.1:{port}"), encoding="utf-8")
    return file


def admin_password(folder: Path) -> str:
    """Return the password that init.sh gave to the store's administrator."""
    (password,) = re.findall(r"^user admin on >(\w+)", (folder / "store_users").read_text("utf-8"), re.MULTILINE)
    return str(password)


def answers(anybody: redis.Redis) -> bool:
    """Ask as the health check of the compose file does: without logging in."""
    with contextlib.suppress(redis.ConnectionError):
        return bool(anybody.ping())
    return False


def test_the_collector_of_the_compose_file_counts_in_its_store(registry_file: Path, tmp_path: Path) -> None:
    words = project("compose.yaml")["services"]["collector-1"]["command"]
    here = {
        "/etc/hearsay/access.toml": str(tmp_path / "docker/config/access.toml"),
        "0.0.0.0:9090": f"127.0.0.1:{free_port()}",
    }
    apart = ("serve", "--registry", "/etc/hearsay/metrics.toml", "--bind", "0.0.0.0:8080")
    options = [here.get(word, word) for word in words if word not in apart]
    with running_store(tmp_path, "valkey.conf") as port:
        url = url_here(tmp_path / "store_url", port)
        environment = {"HEARSAY_REDIS_URL_FILE": str(url), "HEARSAY_READ_TOKEN": None}
        with running_collector(registry_file, tmp_path / "unused", *options, environment=environment) as collector:
            sent = upload(report(window=Window.at(WindowKind.DAY, time.time()).text))
            assert post(collector.url, sent) == (200, {"accepted": 1, "refused": []})
        assert not list((tmp_path / "unused").iterdir())


def test_the_backup_of_the_compose_file_is_taken_and_put_into_an_empty_store(
    registry_file: Path, tmp_path: Path
) -> None:
    words = project("compose.yaml")["services"]["backup"]["command"]
    export = [str(registry_file) if word == "/etc/hearsay/metrics.toml" else word for word in words]
    file = tmp_path / "backup.ndjson"
    words = project("compose.yaml")["services"]["restore"]["command"]
    restored = [str(file) if word == "/backup.ndjson" else word for word in words]
    with running_store(tmp_path, "valkey.conf") as port:
        url = url_here(tmp_path / "backup_url", port)
        counting = RedisStore(url_here(tmp_path / "store_url", port).read_text(encoding="utf-8").strip())
        counting.prepare()
        agree_on_settings(counting, 60, copies=0)
        assert counting.count(judged(upload())).verdict == Verdict(1)
        taken = collector_command(url, *export)
        file.write_text(taken.stdout, encoding="utf-8")
        with redis.Redis(port=port, username="admin", password=admin_password(tmp_path)) as admin:
            admin.flushall()
        put = collector_command(url_here(tmp_path / "restore_url", port), *restored)
        assert "1 remembered upload and 1 tally are now in the store" in put.stdout
        counting.disconnect()


def collector_command(url: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the collector to its end, for the store that a file names."""
    done = run_command([sys.executable, "-m", "collector", *words], HEARSAY_REDIS_URL_FILE=str(url))
    assert done.returncode == 0, done.stderr
    return done


def test_a_node_of_the_compose_files_cluster_starts_on_its_settings(tmp_path: Path) -> None:
    with (
        running_store(tmp_path, "valkey.cluster.conf") as port,
        redis.Redis(port=port, username="admin", password=admin_password(tmp_path), decode_responses=True) as admin,
    ):
        assert admin.config_get("cluster-*")["cluster-require-full-coverage"] == "no"
        assert admin.config_get("appendfsync") == {"appendfsync": "always"}
        assert admin.config_get("primaryuser") == {"primaryuser": "replica"}
