from __future__ import annotations

import socket
import threading

import pytest

from collector.errors import ConfigError
from collector.workers import _Server, resolve


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


def test_a_signal_that_comes_while_the_main_loop_or_an_earlier_signal_holds_its_lock_does_not_hang() -> None:
    server = _Server("collector")

    def interrupted() -> None:
        with server.main_loop_interrupt._cond:  # type: ignore[attr-defined] # the lock itself
            server.signal_handler_interrupt()
            server.signal_handler_interrupt()

    thread = threading.Thread(target=interrupted, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert server.main_loop_interrupt.wait(60)
    assert server.interrupt_signal
