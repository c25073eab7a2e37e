"""The folder of netdsl's own files in the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of netdsl's own files in the user's cache folder, which XDG_CACHE_HOME may name. A user without
    a home gets a folder that doesn't exist, since other users could prepare any other."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():  # by the XDG specification, a relative folder doesn't count
        return named / "netdsl"
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  # Path.home() raises an error without a home
    return (home if home.is_absolute() else Path("/nonexistent")) / ".cache" / "netdsl"
