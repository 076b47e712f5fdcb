"""``hearsay-client init``: a registry to begin with, which a reviewer would sign."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

from client_sdk.commands.outcome import Outcome

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
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return Outcome(problems=(f"{path} exists and is left as it is; name another file",))
    except OSError as error:
        return Outcome(problems=(f"{path} cannot be written: {error.strerror}; name another file",))
    return Outcome(f"wrote {path}; put your own questions into it, then: hearsay-client check {path}\n")
