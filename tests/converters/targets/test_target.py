"""The descriptions of targets."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from caffe_proto.errors import FileError
from converters.targets.target import TARGETS, read_target, target_of
from netdsl.errors import ConversionError, RegistryError
from netdsl.registry import register_target, registered_by
from tests.registered import restored

OURS = """title = "Our chip"
format = "onnx"
program = "ours.py"
packages = ["ours>=2"]
settings = { cores = 2 }
integers = { activations = "int8", symmetric = true }
"""


@pytest.mark.parametrize("name", [name for name in TARGETS.own() if TARGETS[name].program is not None])
def test_each_target_that_runs_has_its_program_and_packages(name: str) -> None:
    target = TARGETS[name]
    assert target.program is not None
    assert (target.name, target.program.is_file(), bool(target.packages)) == (name, True, True)
    assert "def run(files: list[str], inputs: dict[str, Any], outputs: list[str]" in target.program.read_text()


def test_a_plug_in_registers_a_target_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "ours.toml").write_text(OURS)
    with restored(TARGETS):
        register_target(tmp_path / "ours.toml")
        target = target_of("ours")
        assert (target.title, target.program, target.settings) == ("Our chip", tmp_path / "ours.py", {"cores": 2})
        assert (target.integers.activations, target.integers.symmetric, target.integers.per_channel) == (
            "int8",
            True,
            True,
        )
        register_target(tmp_path / "ours.toml")  # again, as in a notebook
        (tmp_path / "opencv5.toml").write_text(OURS)
        with pytest.raises(RegistryError, match="the target 'opencv5' is defined twice"):
            register_target(tmp_path / "opencv5.toml")


def test_a_plug_in_says_which_targets_it_has_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ours.toml").write_text(OURS)
    module = ModuleType("chip")
    module.__file__ = str(tmp_path / "chip.py")
    monkeypatch.setitem(sys.modules, "chip", module)
    with restored(TARGETS):
        register_target(tmp_path / "ours.toml")
        assert registered_by("chip") == ["target ours"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("title =", "Invalid value"),
        (OURS.replace("title", "titel"), "unknown field `titel`"),
        (OURS.replace('"onnx"', '"tflite"'), "Invalid enum value 'tflite'"),
        (OURS.replace('["ours>=2"]', '"ours"'), "Expected `array`, got `str` - at `$.packages`"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "ours.toml").write_text(text)
    with pytest.raises(FileError, match=r"ours\.toml: not a target: ") as caught:
        read_target(tmp_path / "ours.toml", tmp_path)
    assert reason in str(caught.value)


def test_a_wrong_name_is_answered_with_a_similar_one() -> None:
    with pytest.raises(ConversionError, match=r"target 'opencv6' is unknown; .*opencv5"):
        target_of("opencv6")
