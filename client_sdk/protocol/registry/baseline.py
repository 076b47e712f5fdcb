"""The registry that a change is compared with: a file, or a file of a git revision."""

from __future__ import annotations

from pathlib import Path

from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry

HELP = "FILE, or REVISION:FILE of git, such as origin/main:metrics.toml"
"""What a place may be, for the help of commands."""


def nothing_at(place: Path) -> str:
    """Return the sentence that a git revision has no such registry."""
    return f"there is no {place}: the registry is new, and is compared with nothing"


def read(place: Path) -> Registry | None:
    """Read a registry and the history beside it; None if it is new since a git revision.

    Args:
        place: a file, or ``REVISION:FILE`` as ``git show`` takes it: ``FILE`` counts from the top
            of the repository, and ``./FILE`` from the working directory.

    Raises:
        RegistryError: if a file has mistakes or cannot be read, if there is no such revision, or if
            neither it nor the working directory has such a file.

    """
    revision, colon, path = place.as_posix().partition(":")
    if place.exists() or not colon:
        return history.read(place)
    if not path:
        raise RegistryError(str(place), "names no file; write REVISION:FILE")
    if _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}") is None:
        problem = "is no file, and git knows no such revision here; fetch the revision, or name another file"
        raise RegistryError(str(place), problem)
    text, beside = _in_git(place), history.path_of(place)
    if text is None:
        _require_new(place)
        return None
    releases = history.parsed(_in_git(beside) or "schema = 1", str(beside))
    return history.with_releases(Registry.parse_file(text, str(place)), releases, beside)


def _require_new(place: Path) -> None:
    """Refuse a file that neither the revision nor the working directory has.

    A gate that compares with nothing lets everything through: it must not do so for a wrong path.

    Raises:
        RegistryError: if there is no such file here, either.

    """
    path = place.as_posix().partition(":")[2]
    is_here = path.startswith(("./", "../"))
    top = Path() if is_here else Path((_git("rev-parse", "--show-toplevel") or b"").decode().strip())
    if not (top / path).exists():
        raise RegistryError(
            str(place),
            "is no file of that revision, and there is none here; FILE counts from the top of the repository, and "
            "./FILE from here",
        )


def _in_git(place: Path) -> str | None:
    """Return the text of a file of a revision that exists; None if it has no such file.

    Raises:
        RegistryError: if it cannot be read.

    """
    blob = _git("rev-parse", "--verify", "--quiet", "--end-of-options", place.as_posix())
    if blob is None:
        return None
    content = _git("cat-file", "blob", blob.decode().strip())
    try:
        return (content or b"").decode()
    except UnicodeDecodeError:
        raise RegistryError(str(place), "is not UTF-8 text; save it as UTF-8") from None


def _git(*words: str) -> bytes | None:
    """Return what git prints; None if it fails, or is not there."""
    import subprocess  # noqa: PLC0415 importing the SDK must stay quick

    try:
        done = subprocess.run(["git", *words], check=False, capture_output=True)  # noqa: S603, S607 no shell
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
