"""What a change is compared with: a file, or a file of a git revision, each with its history."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from client_sdk.protocol import Registry, RegistryError
from client_sdk.protocol.registry import differences, history
from client_sdk.protocol.statement import changed, statement
from tests.support.devices.definitions import BOOLEAN, CATEGORY, Field, parsed, registry_text
from tests.support.services.git import commit_all

OLD = registry_text(theme=CATEGORY | {"values": ["light", "dark"]})
NEW = registry_text(theme=CATEGORY | {"values": ["light", "dark", "auto"]})
LATER = registry_text(theme=CATEGORY | {"values": ["light", "dark", "auto", "none"]})


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a repository, with a registry that was released and then changed."""
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "metrics.toml").write_text(OLD)
    release = history.Release(date(2026, 11, 1), Registry.parse(OLD))
    (folder / "metrics.history.toml").write_text(history.written([release]))
    commit_all(tmp_path)
    (folder / "metrics.toml").write_text(NEW)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("place", ["HEAD:./metrics.toml", "HEAD:app/metrics.toml"])
def test_a_revision_has_its_registry_and_its_history(app: Path, place: str) -> None:
    commit_all(app.parent)
    (app / "metrics.toml").write_text(LATER)
    (app / "metrics.history.toml").unlink()
    then = differences.read(Path(place))
    assert then is not None
    assert then.metric("theme") == Registry.parse(NEW).metric("theme")
    assert [each.metric for each in then.former] == [Registry.parse(OLD).metric("theme")]


def test_a_file_of_that_name_comes_first_and_has_its_history_too(app: Path) -> None:
    for name in ("metrics.toml", "metrics.history.toml"):
        (app / f"HEAD:{name}").write_bytes((app / name).read_bytes())
    then = differences.read(Path("HEAD:metrics.toml"))
    assert then is not None
    assert then.metric("theme") == Registry.parse(NEW).metric("theme")
    assert len(then.former) == 1


@pytest.mark.usefixtures("app")
def test_a_registry_that_a_revision_lacks_is_new_and_a_revision_that_is_unknown_is_refused() -> None:
    for place in ("HEAD:./other.toml", "HEAD:lost/metrics.toml"):
        with pytest.raises(RegistryError, match=r"exists neither in that revision nor here"):
            differences.read(Path(place))
    Path("new.toml").touch()
    assert differences.read(Path("HEAD:./new.toml")) is None
    with pytest.raises(
        RegistryError, match=r"^HEAD: does not name a file; write REVISION:FILE, such as HEAD:metrics.toml"
    ):
        differences.read(Path("HEAD"))
    with pytest.raises(RegistryError, match=r"^HEAD:: does not name a file"):
        differences.read(Path("HEAD:"))
    for place in ("nowhere:metrics.toml", "--help:metrics.toml"):
        with pytest.raises(RegistryError, match=f"^{place}: is neither a file nor a revision in git"):
            differences.read(Path(place))
    with pytest.raises(RegistryError, match=r"^other\.toml: cannot be read"):
        differences.read(Path("other.toml"))


def test_without_git_no_revision_is_known(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(app))
    with pytest.raises(RegistryError, match=r"^HEAD:\./metrics\.toml: is neither a file nor a revision in git"):
        differences.read(Path("HEAD:./metrics.toml"))


@pytest.mark.parametrize(
    ("name", "content", "mistake"),
    [
        ("metrics.toml", OLD.replace('"light"', "7"), r"^HEAD:metrics\.toml:\d+: metric\.theme\.values: "),
        ("metrics.toml", "\x00", r"^HEAD:metrics\.toml: is not TOML"),
        ("metrics.history.toml", "schema = 2", r"^HEAD:metrics\.history\.toml:1: must contain"),
    ],
)
def test_mistakes_in_a_revision_are_named_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, mistake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("metrics.toml").write_text(OLD)
    Path(name).write_text(content)
    commit_all(tmp_path)
    with pytest.raises(RegistryError, match=mistake):
        differences.read(Path("HEAD:metrics.toml"))


def test_a_former_edition_that_left_the_history_is_a_difference(app: Path) -> None:
    released = history.read(app / "metrics.toml")
    edition = Registry.parse(OLD).metric("theme").edition
    (lost,) = differences.between(released, Registry.parse(NEW))
    assert lost.startswith(f"metric.theme: its former edition {edition} is no longer in a history")
    assert differences.between(released, released) == []


def test_the_statements_difference_has_every_changed_line_under_its_heading() -> None:
    old, new = Registry.parse(OLD), Registry.parse(registry_text(theme=BOOLEAN))
    assert changed(new, new) == ""
    before, after = statement(old).splitlines(), statement(new).splitlines()
    lines = changed(old, new).splitlines()
    assert {line[1:] for line in lines[2:] if line.startswith("-")} == {*before} - {*after}
    assert {line[1:] for line in lines[2:] if line.startswith("+")} == {*after} - {*before}
    assert any(line.startswith("@@") and " @@ ## " in line for line in lines)
    added = changed(None, new).splitlines()
    assert [line[1:] for line in added if line.startswith("+")][1:] == after


def test_a_change_names_what_was_added_removed_or_changed_and_nothing_that_stayed() -> None:
    def said(before: dict[str, Field], after: dict[str, Field]) -> list[str]:
        return list(differences.changes(*(parsed(m=CATEGORY | fields)["m"] for fields in (before, after))))

    permanent: dict[str, Field] = {"permanent_epsilon": 5}
    assert said(permanent, permanent | {"values": ["a", "b", "c", "d"]}) == ['"d" was added to values']
    assert said(permanent, {"permanent_epsilon": 6}) == ["its permanent epsilon changed"]
    three: dict[str, Field] = {"values": ["a", "b", "c"]}
    assert said(three, three | {"other": "c"}) == ["other c was added"]
    assert said(three | {"other": "c"}, three) == ["other was removed"]
    assert said(three | {"other": "c"}, three | {"other": "b"}) == ["other changed from c to b"]
