"""The descriptions of targets, one in each file NAME.toml of this package."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from caffe_proto.errors import FileError, name_advice
from converters.integer_form import IntegerForm
from netdsl.errors import ConversionError
from netdsl.registry import Registry

_HERE = Path(str(files("converters.targets")))
PROGRAMS = _HERE / "programs"


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that runs models of a format, and the packages that contain it.

    `program` is a file of Python with a function `run`. The function gets the model's files, the inputs by name, the
    names of the outputs, and the `settings`. It returns the outputs by name. It runs in the target's environment.
    Without it, the target is only known by its rules: the operators that it takes, or the fork of Caffe that it is.
    """

    title: str
    format: Literal["onnx", "caffe"]
    program: Path | None = None
    packages: tuple[str, ...] = ()
    without_dependencies: tuple[str, ...] = ()  # packages that run without the packages that they require
    settings: Mapping[str, Any] = {}
    opset: int | None = None  # the newest opset that the program reads, if it isn't ours
    # Types of layers that the program's reader of ONNX takes as operators with their names. Their attributes are the
    # layer's settings, in which enums can be numbers in place of names.
    caffe_layers: tuple[str, ...] = ()
    sized_layers: tuple[str, ...] = ()  # such types whose layers are constants unless the size of images is free
    enums_as_numbers: bool = False
    misreads: tuple[Literal["padded-1x1-convolution"], ...] = ()  # forms of ONNX that the program computes wrongly
    operators: tuple[str, ...] = ()  # those of ONNX that the program takes, if it doesn't take all
    fork: str | None = None  # the dialect of Caffe whose layers and settings the program has, besides BVLC's
    layers: tuple[str, ...] = ()  # types of Caffe's layers that the program takes, if it doesn't take all of the fork's
    # For fields such as `permute_param.order`, the values that the program takes.
    layer_settings: Mapping[str, tuple[tuple[int, ...] | int, ...]] = {}
    sources: Mapping[str, str] = {}  # an address that proves a fact, by the fact's field
    adds_zeros: bool = False  # whether layers that select items fill up their outputs with zeros
    integers: IntegerForm = IntegerForm()  # the form of a quantized model's integers
    name: str = ""
    file: Path = Path()  # the table


def read_target(path: Path, programs: Path) -> Target:
    """Return the target that a file describes. Its program is in the folder `programs`."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        target = msgspec.convert(table, Target, dec_hook=lambda kind, value: kind(value))
    except (OSError, ValueError, TypeError) as problem:
        raise FileError(f"{path}: not a target: {problem}; write a TOML file as in docs/extend_target.md") from None
    program = None if target.program is None else programs / target.program
    return msgspec.structs.replace(target, name=path.stem, file=path, program=program)


TARGETS: Registry[Target] = Registry("target")
for _path in sorted(_HERE.glob("*.toml"), key=lambda path: path.stem):
    TARGETS.register(_path.stem, read_target(_path, PROGRAMS), f"netdsl.{__name__}.{_path.stem}")


def register_target(path: str | Path) -> None:
    """Register the target that a file NAME.toml describes. Its program is in the same folder."""
    path = Path(path).resolve()
    TARGETS.register(path.stem, read_target(path, path.parent), str(path))


def registered_tables() -> dict[str, Path]:
    """Return the file of each target by its name."""
    return {name: target.file for name, target in TARGETS.items()}


def target_of(name: str) -> Target:
    """Return a target by its name."""
    if name not in TARGETS:
        raise ConversionError(f"target '{name}' is unknown; {name_advice(name, TARGETS)}")
    return TARGETS[name]


def check_runs(target: Target) -> None:
    """Raise a `ConversionError` for a target that is only known by its rules."""
    if target.program is None:
        raise ConversionError(
            f"target '{target.name}' doesn't run here, since only its rules are known; compare a net with them by `zoo "
            "export --for` or `zoo check --for`"
        )
