"""Exports in the programs that will run them, each in an environment of its own. `make test-targets` runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from converters.running import unreported
from converters.targets.environment import install_target
from converters.targets.target import TARGETS
from netdsl import Net
from tests.targets.table import nets_below, outcome_of, write_net
from zoo.exporting import export

pytestmark = pytest.mark.targets

RESIZES = """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 3, 9, 7] } } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "u" type: "Upsample" bottom: "c" top: "u" upsample_param { scale: 2 } }
layer { name: "i" type: "Interp" bottom: "u" top: "i" interp_param { height: 20 width: 33 } }"""

OPENCV = ("opencv4", "opencv5", "opencv5-classic")


@pytest.fixture(scope="session", params=TARGETS.own())
def target(request: pytest.FixtureRequest) -> str:
    install_target(TARGETS[request.param], unreported)
    return request.param


@pytest.mark.parametrize("net", ["lenet", "googlenet", "mnist-siamese", "resnet-18"])
def test_every_target_agrees_about_plain_nets(target: str, net: str, tmp_path: Path) -> None:
    assert outcome_of(write_net(net, tmp_path), target, tmp_path)[1] == ""


@pytest.mark.parametrize("net", ["shapes", "cifar10-full", "shufflenet"])
def test_every_reader_of_onnx_agrees_about_averages_over_parts_of_windows(
    target: str, net: str, tmp_path: Path
) -> None:
    if TARGETS[target].format == "caffe":
        pytest.skip("the target reads the pooling layer itself")
    assert outcome_of(write_net(net, tmp_path), target, tmp_path)[1] == ""


@pytest.mark.parametrize("name", ["opencv4-caffe", "opencv5"])
@pytest.mark.parametrize("net", ["ssd-300-mobilenet", "openpose-body", "squeezenet-1.0"])
def test_opencv5_answers_as_the_reader_of_caffe_did(name: str, net: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    assert outcome_of(write_net(net, tmp_path), name, tmp_path)[1] == ""


@pytest.mark.skipif("NETDSL_NETS" not in os.environ, reason="needs a folder of published nets, named by NETDSL_NETS")
def test_opencv5_answers_for_published_nets(tmp_path: Path) -> None:
    install_target(TARGETS["opencv5"], unreported)
    nets = nets_below(Path(os.environ["NETDSL_NETS"]))
    reasons = {name: outcome_of(files, "opencv5", tmp_path)[1] for name, files in nets}
    assert {name: reason for name, reason in reasons.items() if reason} == {}


@pytest.mark.parametrize("name", OPENCV)
def test_opencv_resizes_images(name: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    files = str(tmp_path / "n.prototxt"), str(tmp_path / "n.caffemodel")
    Path(files[0]).write_text(RESIZES)
    Net(files[0]).save(files[1])
    assert outcome_of(files, name, tmp_path)[1] == ""


@pytest.mark.parametrize("name", OPENCV)
def test_opencv_computes_detections_with_its_own_operator(name: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    cell, reason = outcome_of(write_net("ssd-shapes", tmp_path), name, tmp_path)
    assert reason == "" and cell.endswith("*")  # with an operator of its own


@pytest.mark.parametrize("name", ["onnxruntime", "openvino", *OPENCV, "tract"])
def test_quantized_nets_compute_as_in_onnxruntime(name: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    exported = export(net="shapes", runtime=name, int8=True, calibrate_items=50, output=str(tmp_path / "n.onnx"))
    assert exported.proofs[-1].what == f"in {name}, quantized" and exported.proofs[-1].difference is not None
