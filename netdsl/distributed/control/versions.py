"""The versions of the programs that must be alike on all machines of a run."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Mapping
from importlib.metadata import version
from typing import NamedTuple

import msgspec

_ADVICE = "install the same versions everywhere"


class Versions(msgspec.Struct, frozen=True):
    """The versions on a machine."""

    python: str
    netdsl: str
    torch: str

    @classmethod
    def here(cls) -> Versions:
        """Return the versions on this machine."""
        return cls(platform.python_version(), version("netdsl"), version("torch"))

    def release(self, name: str) -> str:
        """Return the part of a version that must be the same. Builds of one torch for other devices, and maintenance
        releases of Python, go together."""
        text: str = getattr(self, name)
        return ".".join(text.split(".")[:2]) if name == "python" else text.partition("+")[0]


class Differences(NamedTuple):
    """What differs between machines, as sentences. They are empty if nothing does."""

    serious: str = ""  # workers don't understand each other
    minor: str = ""  # only code of the user's own, such as Python layers, can behave differently


def differences(versions: Mapping[str, Versions]) -> Differences:
    """Return how versions differ, by the names of their machines.

    Workers speak netdsl's and torch's own protocols, which change between releases.
    """
    serious = list(filter(None, (_difference(versions, name) for name in ("netdsl", "torch"))))
    python = _difference(versions, "python")
    return Differences(
        f"{'; '.join(serious)}; {_ADVICE}" if serious else "",
        f"{python}; Python layers and plug-ins can behave differently, so {_ADVICE}" if python else "",
    )


def _difference(versions: Mapping[str, Versions], name: str) -> str:
    machines = defaultdict[str, list[str]](list)
    for machine, each in versions.items():
        machines[each.release(name)].append(machine)
    if len(machines) < 2:
        return ""
    return f"{name} is " + ", and ".join(f"{release} on {', '.join(names)}" for release, names in machines.items())
