"""How much memory a store may use, how full it is, and what is logged."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.config import LEAST_STORE_BYTES, parse_size
from collector.errors import ConfigError, StoreUnavailableError
from collector.log import Event
from collector.redis_servers.memory import (
    EMBEDDED_PART,
    LOOK_INTERVAL_S,
    NEARLY_FULL,
    ROOM,
    Memory,
    MemoryWatch,
    embedded_limit_bytes,
    group_limits_bytes,
)
from tests.support.core.tables import for_each

MIB, GIB = 2**20, 2**30


def memory(part: float) -> Memory:
    return Memory(round(part * 100), 100, is_limited=True)


def test_memory_is_that_of_the_limit_or_else_of_the_machine() -> None:
    facts = {"used_memory": "50", "maxmemory": "100", "total_system_memory": "1000"}
    assert Memory.from_info(facts) == Memory(50, 100, is_limited=True)
    assert Memory.from_info(facts | {"maxmemory": "0"}) == Memory(50, 1000, is_limited=False)
    assert str(Memory(3 * 10**9, 4 * 10**9, is_limited=True)) == "a server uses 3.0 GB, 75% of its maxmemory (4.0 GB)"
    assert "its machine's memory" in str(Memory(1, 2, is_limited=False))


def test_the_fullest_server_counts_and_is_logged_once_until_there_is_room(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    parts = [NEARLY_FULL - 0.01, NEARLY_FULL, 0.99, (ROOM + NEARLY_FULL) / 2, ROOM - 0.01, 0.8]
    now = [0.0]
    looks = iter(parts)
    watch = MemoryWatch(lambda: [memory(0.1), memory(next(looks)), memory(0.2)], clock=lambda: now[0])
    seen = []
    for _ in parts:
        seen.append(watch())
        assert watch() == seen[-1]
        now[0] += LOOK_INTERVAL_S
    assert seen == [memory(part).part for part in parts]
    events = [record.event for record in caplog.records]  # type: ignore[attr-defined] # as log_lines adds it
    assert events == [Event.STORE_NEARLY_FULL, Event.STORE_HAS_ROOM, Event.STORE_NEARLY_FULL]
    assert "uploads get a 503" in caplog.records[0].getMessage()


def test_the_last_observation_stays_while_a_store_does_not_answer() -> None:
    now, is_down = [0.0], [False]

    def look() -> list[Memory]:
        if is_down[0]:
            raise StoreUnavailableError("down for the test")
        return [memory(0.5)]

    watch = MemoryWatch(look, clock=lambda: now[0])
    assert watch() == 0.5
    is_down[0], now[0] = True, LOOK_INTERVAL_S
    assert watch() == 0.5


@pytest.mark.parametrize(
    ("lines", "files", "limits"),
    [
        ("", {}, []),
        ("0::/", {"memory.max": "max"}, []),
        ("0::/", {"memory.max": "1000"}, [1000]),
        ("0::/a/b", {"a/b/memory.max": "3", "a/memory.max": "2", "memory.max": "max"}, [3, 2]),
        ("0::/outside/of/the/container", {"memory.max": "7"}, [7]),
        ("5:cpu:/x\n9:hugetlb,memory:/x", {"memory/x/memory.limit_in_bytes": "5", "x/memory.max": "1"}, [5]),
    ],
)
def test_the_limits_of_all_groups_around_a_program_are_read(
    tmp_path: Path, lines: str, files: dict[str, str], limits: list[int]
) -> None:
    own = tmp_path / "own"
    own.write_text(lines)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    assert list(group_limits_bytes(own, tmp_path / "groups")) == limits


def test_a_system_without_groups_has_no_limits_of_them(tmp_path: Path) -> None:
    assert list(group_limits_bytes(tmp_path / "none", tmp_path)) == []


def test_the_embedded_store_may_use_a_part_of_the_machines_memory() -> None:
    (line,) = (line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    machine = int(line.split()[1]) * 1024
    assert 0 < embedded_limit_bytes() <= machine // EMBEDDED_PART


@pytest.mark.parametrize(
    ("text", "size"),
    [("16777216", LEAST_STORE_BYTES), ("64K", 65_536), ("512M", 512 * MIB), ("2G", 2 * GIB), ("1T", 1024 * GIB)],
)
def test_a_size_is_bytes_or_has_a_unit(text: str, size: int) -> None:
    assert parse_size(text, "--store-memory") == size


@for_each("text", ["", "G", "-1", "1.5G", "2 G", "2GB", "1g", "9" * 16, "\u0661"])
def test_another_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match="such as 2G"):
        parse_size(text, "--store-memory")
