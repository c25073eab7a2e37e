"""Settings in files: `--config` reads everything that options can set, and `--print-config` writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.test_house import ROOT
from zoo.cli.commands import COMMANDS
from zoo.cli.request_command import Command, loaded
from zoo.requests.request import fields_of


def test_a_file_can_set_all_arguments_and_options(zoo) -> None:
    Path("time.toml").write_text('net = "lenet"\niterations = 1\nphase = "test"\nassume = {data = "1x28x28"}\n')
    code, out, err = zoo("time", "--config", "time.toml", "--json")
    assert code == 0, err
    assert (json.loads(out)["net"], json.loads(out)["phase"]) == ("LeNet", "TEST")
    Path("show.yaml").write_text("files: lenet\n")
    assert zoo("show", "--config", "show.yaml").out.startswith("lenet: LeNet")


def test_the_command_line_takes_precedence(zoo) -> None:
    Path("time.json").write_text('{"net": "x", "max_iter": 3}')
    code, _, err = zoo("time", "lenet", "--config", "time.json")
    assert code == 2 and "has no setting 'max_iter'; " in err
    Path("time.json").write_text('{"net": "gone", "stage": "a"}')
    printed = yaml.safe_load(zoo("time", "lenet", "--config", "time.json", "--print-config").out)
    assert printed == {"net": "lenet", "phase": "TRAIN", "iterations": 10, "level": 0, "stage": ["a"]}


def test_printed_settings_can_be_read_again(zoo) -> None:
    words = "export", "lenet", "--to", "onnx", "--mean", "1,2,3", "--no-verify", "--assume", "data=1x28x28"
    printed = zoo(*words, "--print-config").out
    Path("export.yaml").write_text(printed)
    assert zoo("export", "--config", "export.yaml", "--print-config") == (0, printed, "")
    assert yaml.safe_load(printed)["verify"] is False


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("batch: many", "'many' is not a valid integer"),
        ("to: tflite", "'tflite' is not one of 'caffe', 'onnx', 'torch'"),
        ("opst: 9", "zoo export has no setting 'opst'; did you mean opset?"),
        ("- a", "contains no names with values"),
        ("a: [", "can't be read: while parsing"),
    ],
)
def test_a_wrong_file_counts_as_a_wrong_call(zoo, text: str, problem: str) -> None:
    Path("wrong.yaml").write_text(text)
    code, out, err = zoo("export", "lenet", "--to", "caffe", "--config", "wrong.yaml")
    if text.startswith("to:"):
        code, out, err = zoo("export", "lenet", "--config", "wrong.yaml")
    assert (code, out) == (2, "") and problem in err
    assert zoo("export", "lenet", "--to", "caffe", "--config", "gone.yaml").code == 2


@pytest.mark.parametrize("name", [name for name, entry in COMMANDS.items() if isinstance(entry, Command)])
def test_every_function_answers_its_own_request(name: str) -> None:
    entry = COMMANDS[name]
    assert isinstance(entry, Command)
    kind = loaded(f"zoo.requests.{entry.request}")
    assert kind.__doc__ and all(each.said.get("help") or each.said.get("is_argument") for each in fields_of(kind))
    if entry.function:
        assert loaded(f"zoo.{entry.function}").kind is kind
    if entry.show:
        assert callable(loaded(f"zoo.cli.{entry.show}"))


@pytest.mark.parametrize(
    "words",
    [("diff", "lenet", "lenet"), ("time", "lenet", "--iterations", "1"), ("check", "lenet"), ("show", "lenet")],
)
def test_json_matches_its_schema(zoo, words: tuple[str, ...]) -> None:
    schema = json.loads((ROOT / "docs/schemas.json").read_text())[words[0]]["result"]
    found = json.loads(zoo(*words, "--json").out)
    if isinstance(found, list):
        (found,), schema = found, schema["items"]
    ways = [way.get("anyOf", [way])[0] for way in schema.get("anyOf", [schema])]
    assert any(set(way["properties"]) == set(found) for way in ways)
