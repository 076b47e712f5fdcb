"""``hearsay-client init``: a registry to begin with, which a reviewer would sign."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from client_sdk.commands import Outcome
from client_sdk.protocol.registry.registry import Registry

STARTER = Path(__file__).with_name("starter.toml")
"""The registry of the README, too."""

_APP = '"acme-notes"'
_LAST_DAY = "2027-12-31"


def init(path: Path, app: str | None, today: date) -> Outcome:
    """Write the starter under the name of an app, unless there is a file already.

    Its questions expire with the next year: whoever wants to ask for longer decides that then.
    """
    text = STARTER.read_text(encoding="utf-8").replace(_LAST_DAY, f"{today.year + 1}-12-31")
    if app is not None:
        text = text.replace(_APP, json.dumps(app, ensure_ascii=False), 1)
    Registry.parse(text)  # nothing is written that `check` would refuse
    try:
        _write_new(path, text.encode())
    except FileExistsError:
        return Outcome(problems=(f"{path} exists and is left as it is; name another file",))
    except OSError as error:
        return Outcome(problems=(f"{path} cannot be written: {error.strerror}; name another file",))
    return Outcome(f"wrote {path}; put your own questions into it, then: hearsay-client check --registry {path}\n")


def _write_new(path: Path, content: bytes) -> None:
    """Write a file that did not exist; one that cannot be filled would block the next attempt.

    Raises:
        OSError: if there is a file, or it cannot be written; then none was made.

    """
    path.open("xb").close()
    try:
        path.write_bytes(content)
    except BaseException:
        path.unlink()
        raise
