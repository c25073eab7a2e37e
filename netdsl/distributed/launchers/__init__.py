"""Launchers, which start workers or find workers that another program has started."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netdsl.registry import Registry

if TYPE_CHECKING:
    from netdsl.distributed.launcher import Launcher

_OWN = {  # the command line creates these launchers itself
    "local": "netdsl.distributed.launchers.local",
    "external": "netdsl.distributed.launchers.external",
    "mpi": "netdsl.mpi",
    "spark": "netdsl.spark",
}
LAUNCHERS: Registry[Callable[[], Launcher]] = Registry("launcher", _OWN)
