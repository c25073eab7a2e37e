"""Checks the language of pages, docstrings, comments and messages: `make lint`.

It runs the checks of proselint that suit technical text, looks for the words that docs/style.md avoids, and finds
errors that don't say what to do. docs/vocabulary.toml lists those words, and the verbs with which advice begins.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

from proselint.checks import __register__ as proselint_checks
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check
from proselint.registry.checks.engine import Fancy
from proselint.registry.checks.types import ExistenceSimple
from proselint.tools import LintFile

from docs.error_messages import messages_without_advice

ROOT = Path(__file__).parent.parent
CHECKS = ("archaism", "malapropisms", "mondegreens", "needless_variants", "nonwords", "vocabulary")
WRITTEN_BY_PROGRAMS = ("docs/command_line.md", "docs/python.md", "docs/layer_types.md", "docs/errors.md")
QUOTES_BAD_ENGLISH = ("docs/style.md", "docs/check_prose.py")


def main() -> int:
    """Print a line for each fault, and return 1 if there are any."""
    registry = CheckRegistry()
    registry.register_many(proselint_checks)
    registry.register_many(tuple(vocabulary()))
    settings = {"max_errors": 1000, "checks": dict.fromkeys(CHECKS, True)}
    faults = 0
    for path in prose_files():
        text = "".join(prose_of_python(path) if path.suffix == ".py" else prose_of_markdown(path))
        for result in LintFile(str(path), text).lint(settings):
            print(f"{path}:{max(result.pos[0] - 1, 1)}: {result.check_result.message}")
            faults += 1
    for message in messages_without_advice():
        print(f"{message.path}:{message.line}: '{message.text}': end the message with what to do")
        faults += 1
    return int(faults > 0)


def vocabulary() -> Iterator[Check]:
    """Yield a check for each word that docs/vocabulary.toml lists."""
    words = tomllib.loads((ROOT / "docs/vocabulary.toml").read_text())["words"]
    for pattern, instead in words.items():
        yield Check(ExistenceSimple(pattern), Fancy(), "vocabulary", f"'{{}}': write instead: {instead}")


def prose_files() -> Iterator[Path]:
    """Yield the files of the repository that contain text for people, relative to its root."""
    command = ["git", "ls-files", "*.py", "*.md"]
    for name in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if name not in WRITTEN_BY_PROGRAMS and name not in QUOTES_BAD_ENGLISH and not name.endswith("_pb2.py"):
            yield Path(name)


def prose_of_markdown(path: Path) -> Iterator[str]:
    """Yield the lines of a page without code, comments and addresses."""
    in_code = False
    for line in (ROOT / path).read_text().splitlines():
        fence = line.lstrip().startswith("```")
        in_code ^= fence
        yield "\n" if in_code or fence else re.sub(r"`[^`]*`|<!--.*?-->|\]\([^)]*\)|<[^>]*>", "", line) + "\n"


def prose_of_python(path: Path) -> Iterator[str]:
    """Yield the docstrings, comments and messages of a program, and empty lines for its code. Tests have no
    messages."""
    source = (ROOT / path).read_text()
    lines = [""] * (source.count("\n") + 2)
    for node in ast.walk(ast.parse(source)) if "tests" not in path.parts else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for number, line in enumerate(node.value.splitlines()):
                lines[min(node.lineno + number, node.end_lineno or node.lineno)] += f"{line} "
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0]] += token.string.removeprefix("#")
    yield from (re.sub(r"`[^`]*`", "", line) + "\n" for line in lines[1:])


if __name__ == "__main__":
    sys.exit(main())
