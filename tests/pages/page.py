"""The pages of the documentation: their code blocks, the steps to run, and the outputs that they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
# The reader's other programs, such as make and pip, aren't run.
COMMANDS = ("zoo", "torchrun", "mpiexec", "curl", "sed")
# A comment before a block that gives a reason.
NOTES = ("not run", "code", "rooms", "numbers vary", "fails", "until Ctrl-C")
_BLOCK = re.compile(r"(?m)^(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.DOTALL)
_COMMAND = re.compile(r"(?m)^\$ ((?:.*\\\n)*.*)\n")
_PRINTED = re.compile(r"(?m)  # prints (.*)$")
_NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?"


@dataclass(frozen=True)
class Step:
    """A command or a program in a page, and the output that the page shows for it."""

    kind: str
    text: str
    shown: str = ""
    numbers_vary: bool = False
    fails: bool = False
    until_stopped: bool = False

    def request(self) -> dict[str, Any]:
        """Return the values that `run_page.py` needs to run the step."""
        return asdict(self) | {"pattern": pattern_of(self.shown, numbers_vary=self.numbers_vary)}


@dataclass(frozen=True)
class CodeBlock:
    """A code block in a page, and the comment before it."""

    kind: str
    body: str
    note: str

    @property
    def runs(self) -> bool:
        return self.kind in ("console", "python") and not self.note.startswith(("not run: ", "code: "))

    def steps(self, output: str = "") -> Iterator[Step]:
        """Yield the block's program, or each of its commands. `output` is the output that the next block shows."""
        vary, fails = self.note.startswith("numbers vary: "), self.note.startswith("fails: ")
        if self.kind == "python":
            lines = _PRINTED.findall(self.body)
            yield Step("python", self.body, output or "".join(f"...\n{line}\n" for line in lines) + "...", vary, fails)
            return
        _, *parts = _COMMAND.split(self.body)
        commands = [pair for pair in zip(parts[::2], parts[1::2], strict=True) if pair[0].split()[0] in COMMANDS]
        for number, (command, shown) in enumerate(commands, 1):
            is_last = number == len(commands)
            shown = shown or (output if is_last else "")
            until_stopped = is_last and self.note.startswith("until Ctrl-C: ")
            yield Step("console", command, shown, vary, is_last and fails, until_stopped)


def blocks_of(page: Path) -> list[CodeBlock]:
    """Return all code blocks of a page."""
    return [CodeBlock(match["kind"], match["body"], match["note"] or "") for match in _BLOCK.finditer(page.read_text())]


def steps_of(page: Path) -> list[Step]:
    """Return all steps of a page. A block with the comment `output` shows the output of the block before it."""
    blocks = blocks_of(page)
    steps = list[Step]()
    for block, after in zip_longest(blocks, blocks[1:]):
        if block.runs:
            output = after.body if after is not None and after.note.startswith("output") else ""
            steps += block.steps(output)
    return steps


def pattern_of(shown: str, *, numbers_vary: bool = False) -> str:
    """Return the pattern that an output must match. A page that shows no output accepts any.

    `...` stands for any text in a line. Alone on a line, it stands for any lines. Spaces at the end of a line and empty
    lines around the output are ignored.
    """
    lines = shown.strip("\n").splitlines() or ["..."]
    patterns = (r"(?:.*\n)*" if line.strip() == "..." else _line_pattern(line, numbers_vary) for line in lines)
    return rf"\s*{''.join(patterns)}\s*"


def _line_pattern(line: str, numbers_vary: bool) -> str:
    variable = rf"(\.\.\.|{_NUMBER}| +)" if numbers_vary else r"(\.\.\.)"
    return "".join(map(_text_pattern if numbers_vary else _exact_pattern, re.split(variable, line.rstrip()))) + " *\n"


def _exact_pattern(text: str) -> str:
    return ".*" if text == "..." else re.escape(text)


def _text_pattern(text: str) -> str:
    """Return a pattern in which each number stands for any number, and columns may be wider or narrower."""
    if text.isspace():
        return " *"
    return _NUMBER if re.fullmatch(_NUMBER, text) else _exact_pattern(text)
