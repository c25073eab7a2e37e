"""The commands and programs of the documentation work as typed and print the outputs that the pages show."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.page import PAGES, ROOT, Step, steps_of

ZOO = Path(sys.executable).with_name("zoo")
MARKS = {
    "run_a_script.md": [pytest.mark.slow],
    "several_workers.md": [pytest.mark.slow],
    "spark.md": [pytest.mark.spark],
}
RUN = [
    pytest.param(page, id=page.name, marks=MARKS.get(page.name, [pytest.mark.pages]))
    for page in PAGES
    if steps_of(page)
]


def run_steps(steps: list[Step], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the steps of a page in a folder, which is also the home directory."""
    others = {name: value for name, value in os.environ.items() if name != "NETDSL_HOME"}
    own = {"PATH": os.pathsep.join((str(ZOO.parent), os.environ["PATH"])), "PYTHONPATH": str(ROOT)}
    own |= {"HOME": str(folder), "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, Path(__file__).with_name("run_page.py")],
        input=json.dumps([step.request() for step in steps]),
        cwd=folder,
        env=others | own,
        capture_output=True,
        text=True,
    )


@pytest.mark.skipif(not ZOO.exists(), reason="the console script isn't installed")
@pytest.mark.parametrize("page", RUN)
def test_the_commands_and_programs_of_a_page_work_as_typed(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = run_steps(steps_of(page), tmp_path)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-8000:]}"
