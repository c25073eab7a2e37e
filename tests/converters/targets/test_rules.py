"""Targets that are only known by what they take."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters import export_onnx
from converters.caffe import write_net
from converters.running import with_made_up_weights
from converters.targets.proving import prove_in_target, try_in_target
from converters.targets.rules import check_rules
from converters.targets.session import needed_environment
from converters.targets.target import TARGETS, check_runs
from netdsl.errors import ConversionError
from netdsl.model.model import Model

pytest.importorskip("onnx")

NET = """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 4, 4, 4] } } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 2 kernel_size: 1 } }
layer { name: "s" type: "Sigmoid" bottom: "c" top: "s" }"""
PERMUTED = NET + """layer { name: "p" type: "Permute" bottom: "s" top: "p" permute_param { order: [0, 2, 3, 1] } }"""
UPSAMPLED = """layer { name: "u" type: "Upsample" bottom: "s" top: "u" upsample_param { scale: 2 } }"""
RELU6 = NET + """layer { name: "r" type: "ReLU6" bottom: "s" top: "r" }"""


def model_of(text: str) -> Model:
    return with_made_up_weights(Model(from_text(text, pb.NetParameter)))


def test_an_operator_that_a_target_lacks_is_named_with_its_layer(tmp_path: Path) -> None:
    export_onnx(model_of(NET), tmp_path / "m.onnx", verify=False)
    takes = msgspec.structs.replace(TARGETS["tensorrt"], operators=("Conv", "Sigmoid"))
    check_rules(model_of(NET), takes, [tmp_path / "m.onnx"])
    lacks = msgspec.structs.replace(takes, operators=("Conv",))
    with pytest.raises(ConversionError, match="TensorRT doesn't take the net: layer 's' needs the operator Sigmoid; "):
        check_rules(model_of(NET), lacks, [tmp_path / "m.onnx"])


@pytest.mark.parametrize(
    ("text", "target", "missing"),
    [
        (NET, "bvlc-caffe", ""),
        (PERMUTED, "bvlc-caffe", "layer 'p': BVLC's Caffe has no Permute"),
        (PERMUTED, "ssd-caffe", ""),
        (RELU6, "ssd-caffe", "layer 'r': .* has no ReLU6"),
        (NET.replace("kernel_size: 1", "kernel_size: 1 group: 2"), "bvlc-caffe", ""),
        (PERMUTED, "nnie", ""),
        (NET + UPSAMPLED, "nnie", ""),  # a layer of another fork, whose settings aren't the named one's
        (PERMUTED.replace("[0, 2, 3, 1]", "[0, 3, 1, 2]"), "nnie", r"NNIE takes .*order \[0, 2, 3, 1\], not \[0, 3, "),
        (NET + """layer { name: "e" type: "Swish" bottom: "s" top: "e" }""", "nnie", "NNIE has no Swish"),
    ],
)
def test_a_fork_has_its_own_layers_and_those_of_bvlc(text: str, target: str, missing: str, tmp_path: Path) -> None:
    model = model_of(text)
    files = write_net(model, tmp_path / "n.prototxt")
    if not missing:
        assert prove_in_target(model, TARGETS[target], files, 0) == []
        return
    with pytest.raises(ConversionError, match=missing):
        prove_in_target(model, TARGETS[target], files, 0)


def test_layers_that_a_target_lacks_are_replaced_before_it_is_tried() -> None:
    assert try_in_target(model_of(RELU6), TARGETS["nnie"], 0) == []
    with pytest.raises(ConversionError, match=r"layer 'r': .* has no ReLU6"):
        check_rules(model_of(RELU6), TARGETS["nnie"], [])


@pytest.mark.parametrize("name", [name for name in TARGETS.own() if TARGETS[name].program is None])
def test_a_target_without_a_program_has_facts_with_sources_and_runs_nothing(name: str) -> None:
    target = TARGETS[name]
    facts = {field for field in ("fork", "layer_settings", "layers", "operators", "opset") if getattr(target, field)}
    assert facts and facts == set(target.sources) and all(map(str.strip, target.sources.values()))
    for needs_runtime in (check_runs, needed_environment):
        with pytest.raises(ConversionError, match=f"target '{name}' doesn't run here, since only its rules are known"):
            needs_runtime(target)
