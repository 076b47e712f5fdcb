"""The folder that an app gives the SDK."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path


def app_folder(data_dir: object) -> Path | None:
    """Return the absolute path of the folder that an app names; None to store nothing.

    Raises:
        TypeError: if it is neither None nor a path.
        ValueError: if it would be another folder wherever the program is started, or none at all.

    """
    if data_dir is None:
        return None
    if not isinstance(data_dir, str | PathLike):
        raise TypeError("data_dir must be the path of the app's folder, or None to store nothing")
    text = str(fspath(data_dir))
    if not text:  # a variable that is not set
        raise ValueError("data_dir is empty: name the app's folder, or give None to store nothing")
    if Path(text).parts[:1] == ("~",):
        raise ValueError("data_dir begins with ~, which only shells replace: give Path(data_dir).expanduser()")
    if "\0" in text:
        raise ValueError("data_dir holds a NUL, as no path does")
    return Path(data_dir).absolute()
