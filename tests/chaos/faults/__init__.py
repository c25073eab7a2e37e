"""Faults inside the processes of a command. `sitecustomize` in this folder carries them out."""

from __future__ import annotations

import json
import os
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.chaos.processes import ROOT

FAULT_NAMES = ("slow files", "clock jumps", "read-only packages")
_VARIABLE = "NETDSL_CHAOS_FAULTS"
_HOURS = 3600.0


@dataclass(frozen=True)
class Faults:
    """The faults of all processes of a command, in whose folder they happen."""

    delay: float = 0.0  # seconds that each write to a file takes longer
    jump: float = 0.0  # seconds by which the clock jumps once
    read_only: bool = False  # whether Python's packages and the user's home can't be written to
    kill_at: int = 0  # the number of the write before which the command is killed
    count: Path | None = None  # a file for the number of the command's writes, if it ends by itself

    def __str__(self) -> str:
        words = [
            f"each write {self.delay * 1000:.0f} ms slower" if self.delay else "",
            f"the clock jumps by {self.jump / _HOURS:+.1f} h" if self.jump else "",
            "packages and home read-only" if self.read_only else "",
            f"killed at write {self.kill_at}" if self.kill_at else "",
        ]
        return ", ".join(filter(None, words))

    @property
    def kinds(self) -> list[str]:
        """The names of the faults in tables."""
        values = (self.delay, self.jump, self.read_only)
        return [name for name, value in zip(FAULT_NAMES, values, strict=True) if value]

    def environment(self, folder: Path) -> Mapping[str, str]:
        """Return the environment variables of a command that runs in a folder."""
        settings = {"within": [str(folder.resolve())], "parent": os.getpid(), "delay": self.delay}
        if self.jump:
            settings |= {"jump": self.jump, "jump_within": 20.0}
        if self.kill_at:
            settings["kill_at"] = self.kill_at
        if self.count is not None:
            settings["count"] = str(self.count)
        paths = {"PYTHONPATH": f"{Path(__file__).parent}{os.pathsep}{ROOT}"}
        if self.read_only:
            packages = [sysconfig.get_path("purelib"), str(ROOT / "netdsl"), str(ROOT / "zoo"), str(Path.home())]
            settings["read_only"] = [str(Path(path).resolve()) for path in packages]
            paths["HOME"] = "/proc/1/no-home"  # not even root can write there
        return {**paths, _VARIABLE: json.dumps(settings)}


NO_FAULTS = Faults()


def draw_faults(random: Random) -> Faults:
    """Draw the faults of a training's processes. Half of all trainings have none."""
    match random.randrange(6):
        case 0:
            return Faults(delay=random.choice((0.005, 0.02, 0.1)))
        case 1:
            return Faults(jump=random.choice((-1, 1)) * random.uniform(0.5, 30) * _HOURS)
        case 2:
            return Faults(read_only=True)
    return NO_FAULTS
