"""`zoo targets`, and `zoo verify --in`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from converters.targets.target import TARGETS, Target
from netdsl import LinearLayer, Net, NetParams, RDDLayer, Softmax
from tests.converters.targets.conftest import Ready, ready
from tests.registered import restored
from tests.zoo.cli.conftest import Zoo, needs_onnx

__all__ = ["ready"]

HALVES = "import onnxruntime\ndef run(files, inputs, outputs):\n    return {'prob': inputs['data'][:, 0, 0, :10]}"


@pytest.fixture
def here(zoo: Zoo, ready: Ready) -> Iterator[Target]:
    """Provide a target 'here', and an exported net."""
    with restored(TARGETS):
        target = ready()
        TARGETS.register("here", target)
        layers = (
            RDDLayer("data", shape=[2, 3, 4, 10]),
            LinearLayer("ip", ["data"], num_outputs=10),
            Softmax("prob", ["ip"]),
        )
        Net(NetParams("small", *layers)).save("small.caffemodel")
        assert zoo("export", "small.caffemodel", "--to", "onnx").code == 0
        yield target


@needs_onnx
def test_a_model_is_verified_in_a_target(zoo: Zoo, here: Target) -> None:
    done = zoo("verify", "small.onnx", "--in", "here")
    assert done.out.splitlines() == [
        "output prob 1x10 differs by 0.0e+00 of its spread",
        "the models agree: outputs differ by 0.0e+00 of their spread (0.0001 allowed)",
    ]
    assert json.loads(zoo("verify", "small.onnx", "small.onnx", "--in", "here", "--json").out)["tolerance"] == 1e-4


@needs_onnx
def test_a_target_with_other_values_is_found(zoo: Zoo, here: Target, ready: Ready) -> None:
    TARGETS._values["here"] = ready(HALVES)
    code, out, _ = zoo("verify", "small.onnx", "--in", "here")
    assert code == 1 and out.splitlines()[-1].startswith("the models differ: outputs differ by ")


@needs_onnx
def test_targets_are_listed_with_what_is_installed(zoo: Zoo, here: Target) -> None:
    listed = json.loads(zoo("targets", "list", "--json").out)
    assert {each["name"]: bool(each["versions"]) for each in listed} == {
        **dict.fromkeys(TARGETS.own(), False),
        "here": True,
    }
    assert "OpenCV 5" in zoo("targets", "list").out and "here 1.0" in zoo("targets", "list").out
    assert zoo("targets", "install", "here").out.startswith("target here has here 1.0, in ")
    assert zoo("targets", "remove", "here").out.startswith("removed ")
    assert zoo("targets", "remove", "here").out == "target here wasn't installed\n"
    done = zoo("verify", "small.onnx", "--in", "here")
    assert done.code == 2 and "with: zoo targets install here" in done.err


def test_a_single_model_needs_a_target(zoo: Zoo) -> None:
    done = zoo("verify", "lenet")
    assert done.code == 2 and "Give a second model, or a target that runs the first one with --in TARGET." in done.err
    assert "'opencv6' is not one of 'mnn', " in zoo("verify", "small.onnx", "--in", "opencv6").err
