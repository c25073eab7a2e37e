"""The documentation is correct: its commands and programs work as typed, and its links and code match the files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.test_house import ROOT, load

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
ZOO = Path(sys.executable).with_name("zoo")
COMMANDS = ("zoo", "torchrun", "mpiexec")  # readers run a page's other commands themselves: make, pip, spark-submit
MARKS = {
    "run_a_script.md": [pytest.mark.slow],
    "several_workers.md": [pytest.mark.slow],
    "spark.md": [pytest.mark.spark],
}
_BLOCK = re.compile(r"(?m)^(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class CodeBlock:
    """A code block of a page, and the comment before it."""

    kind: str
    body: str
    note: str

    @property
    def runs(self) -> bool:
        return self.kind in ("console", "python") and not self.note.startswith(("not run: ", "code: "))

    def steps(self) -> Iterator[tuple[str, str]]:
        """Return the block's program, or its commands one by one."""
        if self.kind == "python":
            yield "python", self.body
            return
        for command in re.findall(r"(?m)^\$ ((?:.*\\\n)*.*)$", self.body):
            if command.split()[0] in COMMANDS:
                yield "console", command


def blocks_of(page: Path) -> list[CodeBlock]:
    return [CodeBlock(match["kind"], match["body"], match["note"] or "") for match in _BLOCK.finditer(page.read_text())]


def steps_of(page: Path) -> list[tuple[str, str]]:
    return [step for block in blocks_of(page) if block.runs for step in block.steps()]


def name_of(page: Path) -> str:
    return page.name


RUN = [
    pytest.param(page, id=page.name, marks=MARKS.get(page.name, [pytest.mark.pages]))
    for page in PAGES
    if steps_of(page)
]


@pytest.mark.skipif(not ZOO.exists(), reason="the console script isn't installed")
@pytest.mark.parametrize("page", RUN)
def test_the_commands_and_programs_of_a_page_work_as_typed(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    path = os.pathsep.join((str(ZOO.parent), os.environ["PATH"]))
    done = subprocess.run(
        [sys.executable, ROOT / "tests/run_page.py"],
        input=json.dumps(steps_of(page)),
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_are_valid(page: Path) -> None:
    missing = [link for link in _LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_that_are_not_run_give_a_reason(page: Path) -> None:
    text = page.read_text()
    assert text.count("```") == 2 * len(blocks_of(page)), "a block has no kind, or isn't closed"
    notes = [note for note in re.findall(r"<!-- (.*?) -->", text) if not re.match(r"(not run|code|rooms): \S", note)]
    assert not notes


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_blocks_equal_their_source_files(page: Path) -> None:
    text = page.read_text()
    assert text == load(DOCS / "generate.py").with_generated_parts(text), "stale: run `make docs`"


def test_the_index_has_every_page() -> None:
    listed = set(_LINK.findall((DOCS / "index.md").read_text()))
    assert listed >= {page.name for page in PAGES} - {"README.md", "index.md"}
