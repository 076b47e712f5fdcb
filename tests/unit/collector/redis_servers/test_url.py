"""URLs of stores: what would be misunderstood or ignored is refused, and no password is shown."""

from __future__ import annotations

import pytest

from collector.errors import ConfigError
from collector.redis_servers.connections import Connections
from collector.required_settings import IN_MEMORY


def connections(url: str) -> Connections:
    return Connections(url, IN_MEMORY, is_cluster=False)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("redis://:canary@127.0.0.1:1?ssl_ca_certs=/x", "ssl_ca_certs in the URL of --redis needs rediss://"),
        ("unix:///x?ssl_ca_certs=canary", "ssl_ca_certs in the URL of --redis needs rediss://"),
        ("redis://:canary@127.0.0.1:1?foo=canary", "may not have foo, only db, username, password"),
        ("redis://:canary@127.0.0.1:1?foo", "may not have foo, only db, username, password"),
        ("rediss://127.0.0.1:1?protocol=3", "may not have protocol, only db, .*, ssl_ca_certs"),
        ("redis://127.0.0.1:1?parser_class=canary", "may not have parser_class"),
        ("redis://127.0.0.1:1?retry=canary", "may not have retry"),
        ("redis://127.0.0.1:1?host=canary", "may not have host"),
        ("rediss://127.0.0.1:1?ssl_ca_certs=", "ssl_ca_certs in the URL of --redis has no value"),
        ("rediss://127.0.0.1:1?ssl_cert_reqs=canary", "a parameter of the URL of --redis has a value"),
        ("redis://127.0.0.1:1?socket_timeout=canary", "--redis must be a URL"),
        ("redis://127.0.0.1:1/canary", "the database in the URL of --redis must be a number"),
        ("redis://127.0.0.1:1/1/2", "the database in the URL of --redis must be a number"),
        ("redis://127.0.0.1:1/-1", "the database in the URL of --redis must be a number"),
        ("redis://127.0.0.1:1?db=canary", "the database in the URL of --redis must be a number"),
        ("redis://:12?canary=x@127.0.0.1:1", "--redis must be a URL"),
        ("redis://:12#canary@127.0.0.1:1", "--redis must be a URL"),
        ("redis://:12/canary@127.0.0.1:1", "--redis must be a URL"),
        ("http://127.0.0.1:1/canary", "--redis must be a URL"),
        ("redis://[canary", "--redis must be a URL"),
        ("redis://canary..example:1", "--redis must be a URL"),
    ],
)
def test_a_url_that_would_be_misunderstood_is_refused_without_showing_its_values(url: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named) as caught:
        connections(url)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1",
        "redis://127.0.0.1/",
        "redis://app:p%40ss@[::1]:6379/3?socket_timeout=2&socket_connect_timeout=1&socket_keepalive=yes",
        "redis://127.0.0.1?db=3&username=app&password=p@ss",
        "rediss://app@127.0.0.1:1/0?ssl_ca_certs=/ca.pem&ssl_certfile=/own.pem&ssl_keyfile=/own.key&ssl_min_version=771",
        "rediss://127.0.0.1?ssl_cert_reqs=none&ssl_check_hostname=no&ssl_ciphers=ALL&ssl_password=x&ssl_ca_path=/etc",
        "unix:///run/valkey.sock",
        "unix://app:secret@/run/valkey.sock?db=2",
    ],
)
def test_a_url_may_have_a_login_a_database_certificates_and_time_limits(url: str) -> None:
    connections(url)
