"""URLs of stores: what would be misunderstood or ignored is refused, and no password is shown."""

from __future__ import annotations

import pytest

from collector.errors import ConfigError
from collector.redis_servers.connections import Connections
from collector.required_settings import NO_PROMISE


def connections(url: str) -> Connections:
    return Connections(url, NO_PROMISE, is_cluster=False)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("redis://:canary@127.0.0.1:1?ssl_ca_certs=/x", "ssl_ca_certs in the URL of --redis needs rediss://"),
        ("unix:///x?ssl_ca_certs=canary", "ssl_ca_certs in the URL of --redis needs rediss://"),
        ("redis://:canary@127.0.0.1:1?foo=canary", "may not have foo, only db$"),
        ("redis://:canary@127.0.0.1:1?foo", "may not have foo, only db$"),
        ("rediss://127.0.0.1:1?protocol=3", "may not have protocol, only db, ssl_ca_certs, .*, ssl_password$"),
        ("redis://127.0.0.1:1?parser_class=canary", "may not have parser_class"),
        ("redis://127.0.0.1:1?retry=canary", "may not have retry"),
        ("redis://127.0.0.1:1?host=canary", "may not have host"),
        ("rediss://127.0.0.1:1?ssl_ca_certs=", "ssl_ca_certs in the URL of --redis has no value"),
        ("rediss://127.0.0.1:1?ssl_cert_reqs=none", "may not have ssl_cert_reqs, only db, ssl_ca_certs"),
        ("rediss://127.0.0.1:1?ssl_check_hostname=maybe", "may not have ssl_check_hostname"),
        ("rediss://127.0.0.1:1?ssl_min_version=1", "may not have ssl_min_version"),
        ("rediss://127.0.0.1:1?ssl_ciphers=ALL:@SECLEVEL=0", "--redis must be a URL"),
        ("rediss://127.0.0.1:1?ssl_ciphers=canary", "may not have ssl_ciphers"),
        ("rediss://127.0.0.1:1?ssl_keyfile=canary", "ssl_keyfile in the URL of --redis needs ssl_certfile"),
        ("rediss://127.0.0.1:1?ssl_password=canary", "ssl_password in the URL of --redis needs ssl_certfile"),
        ("rediss://127.0.0.1:1?ssl_ca_certs=a&ssl_ca_certs=canary", "ssl_ca_certs stands twice"),
        ("rediss://127.0.0.1:1?ssl_ca_certs=canary%00", "--redis must be a URL"),
        ("redis://127.0.0.1:1?username=canary", "may not have username"),
        ("redis://u:canary@127.0.0.1:1?password=canary", "may not have password"),
        ("redis://127.0.0.1:1?socket_timeout=-1", "may not have socket_timeout"),
        ("redis://127.0.0.1:1?socket_timeout=1e400", "may not have socket_timeout"),
        ("redis://127.0.0.1:1?socket_connect_timeout=nan", "may not have socket_connect_timeout"),
        ("redis://127.0.0.1:1/1?db=2", "names its database twice"),
        ("redis://127.0.0.1:1?db=1&db=2", "db stands twice"),
        (f"redis://127.0.0.1:1/{'1' * 5000}", "the database in the URL of --redis must be a number"),
        ("redis://127.0.0.1:0", "--redis must be a URL"),
        ("redis://127.0.0.1:canary", "--redis must be a URL"),
        ("unix://canary/valkey.sock", "--redis must be a URL"),
        ("unix://:1/valkey.sock", "--redis must be a URL"),
        ("unix://", "--redis must be a URL"),
        ("REDIS://:canary@127.0.0.1", "--redis must be a URL"),
        ("unix:///canary%00", "--redis must be a URL"),
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
        "redis://app:p%40ss@[::1]:6379/3",
        "redis://127.0.0.1?db=3",
        "rediss://app@127.0.0.1:1/0?ssl_ca_certs=/ca.pem&ssl_certfile=/own.pem&ssl_keyfile=/own.key&ssl_password=x",
        "rediss://127.0.0.1?ssl_ca_path=/etc",
        "unix:///run/valkey.sock",
        "unix://app:secret@/run/valkey.sock?db=2",
    ],
)
def test_a_url_may_have_a_login_a_database_and_certificates(url: str) -> None:
    connections(url)
