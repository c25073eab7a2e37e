"""What starts workers, or finds those that something else has started."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netdsl.registry import Registry

if TYPE_CHECKING:
    from netdsl.distributed.launcher import Launcher

_OWN = {  # the command line has these in its own way
    "local": "netdsl.distributed.launchers.local",
    "external": "netdsl.distributed.launchers.external",
    "mpi": "netdsl.mpi",
    "spark": "netdsl.spark",
}
LAUNCHERS: Registry[Callable[[], Launcher]] = Registry("launcher", _OWN)
