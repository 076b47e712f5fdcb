"""Who may do what: the access file, and how a key is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.access import Access, AccessKey, Role, digest_of, load_access, new_secret, parse_access
from collector.errors import ConfigError
from tests.support.services.collecting import OPEN, key_entry

OLD, NEW, OTHER = "secret-of-old", "secret-of-new", "secret-of-other"
KEYS_ONLY = 'uploads = "keys"\n'


def test_every_field_of_a_key_is_read() -> None:
    access = parse_access(
        key_entry("acme-notes", "upload", OLD, "quota = 1000")
        + key_entry("dashboard", "read", NEW, 'metrics = ["os"]', "preliminary = true")
        + key_entry("edge", "relay", OTHER)
    )
    assert access.keys == (
        AccessKey("acme-notes", Role.UPLOAD, digest_of(OLD), quota=1000),
        AccessKey("dashboard", Role.READ, digest_of(NEW), metrics=frozenset({"os"}), preliminary=True),
        AccessKey("edge", Role.RELAY, digest_of(OTHER)),
    )


def test_uploads_are_open_where_the_file_says_so_and_nowhere_else() -> None:
    reader, relay, app = (
        key_entry("dash", "read", OLD),
        key_entry("edge", "relay", NEW),
        key_entry("a", "upload", OTHER),
    )
    assert parse_access(OPEN + reader + relay).uploads_are_open
    for text in (reader + app, KEYS_ONLY + reader + app, KEYS_ONLY + reader + relay):
        assert not parse_access(text).uploads_are_open


def test_a_file_whose_last_key_for_uploads_was_taken_out_opens_nothing_and_says_what_to_write() -> None:
    with pytest.raises(ConfigError, match=r'^uploads: is missing.*uploads = "open".*uploads = "keys"'):
        parse_access(key_entry("dashboard", "read", OLD) + key_entry("edge", "relay", NEW))


def test_a_key_reads_the_metrics_that_it_names_and_without_names_all() -> None:
    scoped, free = parse_access(
        OPEN + key_entry("some", "read", OLD, 'metrics = ["os"]') + key_entry("all", "read", NEW)
    ).keys
    assert (scoped.may_read("os"), scoped.may_read("plan"), free.may_read("plan")) == (True, False, True)
    assert not free.preliminary


def test_every_key_is_compared_wherever_the_right_one_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    access = parse_access("".join(key_entry(f"k{place}", "upload", f"secret-{place}") for place in range(5)))
    compared: list[bytes] = []

    def compare(first: bytes, second: bytes) -> bool:
        compared.append(first)
        return first == second

    monkeypatch.setattr("collector.access.hmac.compare_digest", compare)
    for secret in ("secret-0", "secret-4", "none"):
        compared.clear()
        access.find(secret)
        assert compared == [key.digest for key in access.keys]


def test_the_token_of_a_collector_without_a_file_reads_everything_and_uploads_are_open() -> None:
    access = Access.of_token(OLD)
    key = access.find(OLD)
    assert access.uploads_are_open
    assert key is not None
    assert (key.role, key.may_read("os"), key.preliminary) == (Role.READ, True, True)


MISTAKES = [
    ("", "key: is missing"),
    ("key = 3", r"\[\[key\]\]"),
    ("key = [3]", r"key\[1\]: must be a table"),
    ("other = 1\n" + key_entry("a", "upload", OLD), "other: is an unknown key"),
    ("[[key]]", r"key\[1\].name: is missing\nkey\[1\].role: is missing\nkey\[1\].sha256: is missing"),
    (key_entry("A b", "upload", OLD), "lowercase letters"),
    (key_entry("a" * 65, "upload", OLD), "1 to 64"),
    (key_entry("a", "admin", OLD), "must be one of: upload, read, relay"),
    (key_entry("a", "upload", OLD).replace(digest_of(OLD).hex(), OLD), "64 lowercase hex digits"),
    (key_entry("a", "upload", OLD).replace("sha256", "secret"), "secret: is an unknown key"),
    (key_entry("a", "upload", OLD, "quota = 0"), "quota: must be a whole number"),
    (key_entry("a", "upload", OLD, "quota = true"), "quota: must be a whole number"),
    (
        key_entry("a", "upload", OLD, "preliminary = true"),
        r'^key\[1\]\.preliminary: is only for a key with role = "read": remove it, or give the key that role$',
    ),
    (key_entry("a", "relay", OLD, 'metrics = ["os"]'), r'^key\[1\]\.metrics: is only for a key with role = "read"'),
    (
        key_entry("a", "read", OLD, "quota = 5"),
        r'^key\[1\]\.quota: is only for a key with role = "upload" or "relay": remove it, or give the key that role$',
    ),
    (
        key_entry("a", "read", OLD, 'uploads = "open"'),
        r"^key\[1\]\.uploads: applies to the whole file: move it above the first \[\[key\]\], as lines",
    ),
    (key_entry("a", "admin", OLD, 'uploads = "open"'), r"key\[1\]\.uploads: applies to the whole file"),
    (key_entry("a", "read", OLD, "metrics = []"), "metrics: must be a list of names"),
    (key_entry("a", "read", OLD, "metrics = [1]"), "metrics: must be a list of names"),
    (key_entry("a", "read", OLD, 'metrics = "os"'), "metrics: must be a list of names"),
    (key_entry("a", "read", OLD, "preliminary = 1"), "preliminary: must be true or false"),
    (key_entry("a", "upload", OLD) + key_entry("b", "read", OLD), "two keys have the same digest"),
    ("[[key]", "is not TOML"),
    ("\ufeff" + key_entry("a", "upload", OLD), "begins with a byte order mark; save it as UTF-8 without one"),
    ('uploads = "all"\n' + key_entry("a", "upload", OLD), "uploads: must be one of: open, keys"),
    ("uploads = true\n" + key_entry("a", "upload", OLD), "uploads: must be one of: open, keys"),
    (OPEN + key_entry("a", "upload", OLD), 'uploads: is "open", but the file has an upload key: remove that key'),
]


@pytest.mark.parametrize(("text", "named"), MISTAKES)
def test_a_mistake_is_named_and_no_value_is_shown(text: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named) as caught:
        parse_access(text)
    assert OLD not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read: No such file"):
        load_access(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"latin\.toml is not UTF-8"):
        load_access(tmp_path / "latin.toml")
    (tmp_path / "broken.toml").write_text("[[key]]")
    with pytest.raises(ConfigError, match=r"broken\.toml: key\[1\]\.name: is missing"):
        load_access(tmp_path / "broken.toml")


def test_secrets_are_long_fresh_and_fit_for_a_header() -> None:
    created = {new_secret() for _ in range(100)}
    assert len(created) == 100
    assert all(len(secret) == 43 and secret.isascii() and " " not in secret for secret in created)
