"""`zoo targets`, and `zoo verify --in`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

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
    assert "'opencv6' is not one of 'ascend', " in zoo("verify", "small.onnx", "--in", "opencv6").err


@needs_onnx
def test_a_net_without_weights_is_tried_in_a_target(zoo: Zoo, here: Target, ready: Ready) -> None:
    lines = zoo("check", "lenet", "--for", "here").out.splitlines()
    assert lines[0].startswith("lenet: good for TEST and TRAIN")
    assert lines[1].startswith("lenet: runs in here; with made-up weights, outputs differ by ")
    TARGETS._values["here"] = ready("def run(files, inputs, outputs):\n    raise ValueError('no Pooling')")
    code, out, _ = zoo("check", "lenet", "shapes", "--for", "here", "--json")
    trials = [each for each in json.loads(out) if each.get("target")]
    assert code == 1 and [each["file"] for each in trials] == ["lenet", "shapes"]
    assert all(each["difference"] is None and "no Pooling" in each["reason"] for each in trials)


def test_a_trial_in_a_target_needs_its_environment_first(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path.cwd() / "empty"))
    done = zoo("check", "lenet", "--for", "opencv5")
    assert (done.code, done.out) == (2, "") and "zoo targets install opencv5" in done.err
    assert "--for runs deployed nets, and --data trains" in zoo("check", "lenet", "--for", "opencv5", "--data").err


@needs_onnx
def test_an_export_is_proved_in_its_target_before_it_is_written(zoo: Zoo, here: Target, ready: Ready) -> None:
    done = zoo("export", "small.caffemodel", "--for", "here", "-o", "there.onnx")
    assert done.code == 0 and re.search(
        r"^in here: outputs differ by \S+ of their spread \(0\.0001 allowed\)$", done.out, re.M
    )
    TARGETS._values["here"] = ready(HALVES)
    done = zoo("export", "small.caffemodel", "--for", "here", "-o", "other.onnx")
    assert done.code == 2 and "small.caffemodel: the outputs in The program differ by " in done.err
    assert not Path("other.onnx").exists()
    done = zoo("export", "small.caffemodel", "--for", "here", "-o", "other.onnx", "--no-verify")
    assert done.code == 0 and "in here: not verified" in done.out
    assert "Give a format with --to FORMAT, or the target" in zoo("export", "small.caffemodel").err


def test_a_net_is_compared_with_the_rules_of_a_target_that_does_not_run_here(zoo: Zoo) -> None:
    done = zoo("check", "lenet", "--for", "bvlc-caffe")
    assert done.code == 0 and done.out.endswith("lenet: keeps the rules of bvlc-caffe, which doesn't run here\n")
    done = zoo("check", "ssd-300-mobilenet", "--for", "bvlc-caffe", "--stub-unknown")
    assert done.code == 1 and "BVLC's Caffe has no Permute" in done.out
    assert zoo("targets", "install", "tensorrt").code == 2
    assert "bvlc-caffe" in zoo("targets", "list").out and "(rules)" in zoo("targets", "list").out


def test_layers_that_only_the_target_computes_are_named_in_one_line(zoo: Zoo) -> None:
    assert zoo("import", "ssd-shapes", "-o", ".").code == 0
    Net("deploy.prototxt", phase="TEST").save("w.caffemodel")
    words = ("export", "deploy.prototxt", "--weights", "w.caffemodel", "--for", "opencv5", "--no-verify")
    assert zoo(*words).out.endswith(
        "layer 'detection_out' is an operator that ONNX doesn't define, so other programs than opencv5 may not run the "
        "file\n"
    )
    shown = zoo(*words, "--dynamic", "data=1,3,H,W").out
    assert re.search(r"layers '\w+_mbox_priorbox', .* are operators that ONNX doesn't define", shown)
