"""The page about clusters is true: the tests and manifests that it names exist, and its commands have real options."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from tests.pages.page import DOCS, ROOT
from zoo.cli import zoo

MANIFESTS = ROOT / "examples/clusters"
PAGE = (DOCS / "clusters.md").read_text()


def test_the_tests_of_the_table_exist() -> None:
    rows = re.findall(
        r"^\| .* \| (\S+) \|$", PAGE[PAGE.index("## What was run") : PAGE.index("## SLURM")], re.MULTILINE
    )
    assert rows.pop(0) == "Test" and len(rows) > 5
    assert all(test == "none" or (ROOT / test).is_file() for test in rows)


def test_the_table_has_every_manifest() -> None:
    assert {path.name for path in MANIFESTS.iterdir()} == set(re.findall(r"clusters/(\w+\.yaml)\)", PAGE))


@pytest.mark.parametrize("path", [DOCS / "clusters.md", *sorted(MANIFESTS.iterdir())], ids=lambda path: path.name)
def test_the_options_of_commands_exist(path: object) -> None:
    text = path.read_text()  # type: ignore[attr-defined]
    shown = CliRunner().invoke(zoo, ["train", "--help"], env={"COLUMNS": "200"}).output
    commands = re.findall(r"(?:set --|zoo train|arguments: \[train,) (.*)", text)
    options = {option for command in commands for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", command)}
    assert options
    assert not [option for option in options if option not in shown]
