"""JSON from every command that says it has it: one value, with nothing else on standard output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import click

from tests.test_house import ROOT
from zoo import cli as command_line


def commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands by their names, those of groups with the names of these."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def test_the_page_lists_the_commands_that_have_json() -> None:
    page = (ROOT / "docs/shell.md").read_text()
    listed = page.partition("These commands have it: ")[2].partition(". `zoo")[0]
    having = {name for name, command in commands(command_line.zoo) if any(p.name == "as_json" for p in command.params)}
    names = {name.split()[0] if name.split()[0] in ("simulate", "store") else name for name in having}
    assert set(re.findall(r"`([a-z ]+)`", listed)) == names


def test_a_training_says_what_came_of_it_and_nothing_else(zoo) -> None:
    code, out, err = zoo("train", "lenet", "--max-iter", "2", "--device", "cpu", "--json")
    result = json.loads(out)
    assert (code, err) == (0, "")
    assert (result["net"], result["iteration"], result["finished"], result["run"]) == ("LeNet", 2, True, None)
    assert result["snapshot"]["model"] == "lenet_iter_2.caffemodel"
    (test,) = result["tests"]
    assert test["iteration"] == 2 and 0 <= test["outputs"]["accuracy"] <= 1
    assert [data["items"] for data in result["data"]] == [1442, 355]
    resumed = json.loads(zoo("train", "lenet", "--max-iter", "3", "--snapshot", "auto", "--json").out)
    assert (resumed["iteration"], resumed["finished"]) == (3, True)


def test_features_say_where_they_are(zoo, digits) -> None:
    words = ["features", digits.net, "--weights", digits.weights, digits.table, "--blob", "hidden"]
    code, out, err = zoo(*words, "-o", "out.parquet", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"output": "out.parquet", "columns": ["hidden"]}
    assert "there is no 'cuda:99'" in zoo(*words, "-o", "other.parquet", "--device", "cuda:99").err
