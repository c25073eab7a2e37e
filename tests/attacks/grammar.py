"""The base of grammars. A grammar builds valid files from recipes, which are lists of rules with numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

Step = Sequence[Any]  # the name of a rule, and its numbers
LARGEST = 1 << 20  # bytes of a file; a file that is larger may cost more
_MOST_STEPS = 20_000
REPEAT = "repeat"  # repeats the last rules: how many, and how often


class Grammar:
    """A kind of file. `RULES` maps the names of rules to the number of their numbers; a method has the name of each."""

    RULES: ClassVar[dict[str, int]]
    COMMANDS: ClassVar[tuple[tuple[str, ...], ...]]  # FILE stands for the built file, and OUT for a new one

    def build(self, steps: Sequence[Step], folder: Path) -> Path:
        """Write the file of a recipe, and return its path."""
        for name, *numbers in _written_out(steps):
            getattr(self, name)(*numbers)
            if self.size > LARGEST:
                break
        return self.write(folder)

    @property
    @abstractmethod
    def size(self) -> int:
        """About how many bytes the file has so far."""

    @abstractmethod
    def write(self, folder: Path) -> Path:
        """Write the file, and return its path."""


def _written_out(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with all repetitions."""
    done: list[Step] = []
    for step in steps:
        if step[0] != REPEAT:
            done.append(step)
            continue
        last = done[-max(step[1], 1) :]
        done += last * min(step[2], (_MOST_STEPS - len(done)) // max(len(last), 1))
    return done[:_MOST_STEPS]
