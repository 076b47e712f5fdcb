from __future__ import annotations

import socket

import pytest

from collector.errors import ConfigError
from collector.workers import resolve


def test_a_host_that_is_no_address_is_refused_by_the_option_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    for name in ("127.0.0..1", f"{'x' * 64}.example", ""):
        with pytest.raises(ConfigError, match="is not an address of this machine"):
            resolve(name)
    monkeypatch.setattr(socket, "getaddrinfo", find_none)
    with pytest.raises(ConfigError, match="--bind: nowhere is not an address"):
        resolve("nowhere")
    with pytest.raises(ConfigError, match="--metrics-bind: nowhere is not an address"):
        resolve("nowhere", "--metrics-bind")
