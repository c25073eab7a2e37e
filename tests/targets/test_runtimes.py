"""Exports in the programs that will run them, each in an environment of its own. `make test-targets` runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from converters.caffe import write_net as write_caffe
from converters.running import unreported, with_made_up_weights
from converters.targets.environment import install_target
from converters.targets.target import TARGETS
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.opening import open_model
from tests.targets.table import nets_below, outcome_of, write_net
from zoo.exporting import export

pytestmark = pytest.mark.targets

RESIZES = """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 3, 9, 7] } } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "u" type: "Upsample" bottom: "c" top: "u" upsample_param { scale: 2 } }
layer { name: "i" type: "Interp" bottom: "u" top: "i" interp_param { height: 20 width: 33 } }"""

PADS_1X1 = """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: [1, 3, 8, 8] } } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 32 kernel_size: 3 } }
layer { name: "d" type: "Convolution" bottom: "c" top: "d"
  convolution_param { num_output: 16 kernel_size: 1 pad: 1 } }"""


def _head(name: str, bottom: str, size: int, more: str) -> str:
    """Return the layers of an SSD that predict boxes and scores of faces for a blob, and its priors."""
    convolutions = "".join(
        f"""layer {{ name: "{name}_{part}" type: "Convolution" bottom: "{bottom}" top: "{name}_{part}"
  convolution_param {{ num_output: {outputs} kernel_size: 3 pad: 1 }} }}
layer {{ name: "{name}_{part}_perm" type: "Permute" bottom: "{name}_{part}" top: "{name}_{part}_perm"
  permute_param {{ order: [0, 2, 3, 1] }} }}
layer {{ name: "{name}_{part}_flat" type: "Flatten" bottom: "{name}_{part}_perm" top: "{name}_{part}_flat" }}
"""
        for part, outputs in (("loc", 16), ("conf", 8))
    )
    return f"""{convolutions}layer {{ name: "{name}_priors" type: "PriorBox" bottom: "{bottom}" bottom: "data"
  top: "{name}_priors" prior_box_param {{ min_size: {size} max_size: {2 * size} aspect_ratio: 2 flip: true clip: false
    variance: [0.1, 0.1, 0.2, 0.2] {more} }} }}
"""


# An SSD for faces on a residual net whose first layers normalize the image, and a head on a blob of norm 20.
LIKE_RES10 = f"""layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ dim: [1, 3, 96, 96] }} }} }}
layer {{ name: "data_bn" type: "BatchNorm" bottom: "data" top: "data_bn" }}
layer {{ name: "data_scale" type: "Scale" bottom: "data_bn" top: "data_bn" scale_param {{ bias_term: true }} }}
layer {{ name: "conv1" type: "Convolution" bottom: "data_bn" top: "conv1"
  convolution_param {{ num_output: 16 kernel_size: 7 pad: 3 stride: 2 }} }}
layer {{ name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }}
layer {{ name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param {{ pool: MAX kernel_size: 3 stride: 2 }} }}
layer {{ name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param {{ num_output: 16 kernel_size: 3 pad: 1 bias_term: false }} }}
layer {{ name: "bn2" type: "BatchNorm" bottom: "conv2" top: "bn2" }}
layer {{ name: "scale2" type: "Scale" bottom: "bn2" top: "bn2" scale_param {{ bias_term: true }} }}
layer {{ name: "sum" type: "Eltwise" bottom: "pool1" bottom: "bn2" top: "sum" }}
layer {{ name: "norm" type: "Normalize" bottom: "sum" top: "norm"
  norm_param {{ across_spatial: false channel_shared: false scale_filler {{ type: "constant" value: 20 }} }} }}
layer {{ name: "conv3" type: "Convolution" bottom: "sum" top: "conv3"
  convolution_param {{ num_output: 32 kernel_size: 3 pad: 1 stride: 2 }} }}
layer {{ name: "relu3" type: "ReLU" bottom: "conv3" top: "conv3" }}
{_head("fine", "norm", 16, "step: 4")}{_head("coarse", "conv3", 40, "step: 8")}
layer {{ name: "loc" type: "Concat" bottom: "fine_loc_flat" bottom: "coarse_loc_flat" top: "loc" }}
layer {{ name: "conf" type: "Concat" bottom: "fine_conf_flat" bottom: "coarse_conf_flat" top: "conf" }}
layer {{ name: "priors" type: "Concat" bottom: "fine_priors" bottom: "coarse_priors" top: "priors"
  concat_param {{ axis: 2 }} }}
layer {{ name: "rows" type: "Reshape" bottom: "conf" top: "rows" reshape_param {{ shape {{ dim: [0, -1, 2] }} }} }}
layer {{ name: "softmax" type: "Softmax" bottom: "rows" top: "softmax" softmax_param {{ axis: 2 }} }}
layer {{ name: "scores" type: "Flatten" bottom: "softmax" top: "scores" }}
layer {{ name: "faces" type: "DetectionOutput" bottom: "loc" bottom: "scores" bottom: "priors" top: "faces"
  detection_output_param {{ num_classes: 2 share_location: true background_label_id: 0 code_type: CENTER_SIZE
    nms_param {{ nms_threshold: 0.45 top_k: 400 }} keep_top_k: 200 confidence_threshold: 0.01 }} }}
"""

OPENCV = ("opencv4", "opencv5", "opencv5-classic")


@pytest.fixture(scope="session", params=[name for name in TARGETS.own() if TARGETS[name].program is not None])
def target(request: pytest.FixtureRequest) -> str:
    install_target(TARGETS[request.param], unreported)
    return str(request.param)


@pytest.mark.parametrize("net", ["lenet", "googlenet", "mnist-siamese", "resnet-18"])
def test_every_target_agrees_about_plain_nets(target: str, net: str, tmp_path: Path) -> None:
    assert outcome_of(write_net(net, tmp_path), target, tmp_path).problem == ""


@pytest.mark.parametrize("net", ["shapes", "cifar10-full", "shufflenet"])
def test_every_reader_of_onnx_agrees_about_averages_over_parts_of_windows(
    target: str, net: str, tmp_path: Path
) -> None:
    if TARGETS[target].format == "caffe":
        pytest.skip("the target reads the pooling layer itself")
    assert outcome_of(write_net(net, tmp_path), target, tmp_path).problem == ""


@pytest.mark.parametrize("name", ["opencv4-caffe", "opencv5"])
@pytest.mark.parametrize("net", ["ssd-300-mobilenet", "openpose-body", "squeezenet-1.0"])
def test_opencv5_answers_as_the_reader_of_caffe_did(name: str, net: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    assert outcome_of(write_net(net, tmp_path), name, tmp_path).problem == ""


@pytest.mark.skipif("NETDSL_NETS" not in os.environ, reason="needs a folder of published nets, named by NETDSL_NETS")
def test_opencv5_answers_for_published_nets(tmp_path: Path) -> None:
    install_target(TARGETS["opencv5"], unreported)
    nets = nets_below(Path(os.environ["NETDSL_NETS"]))
    problems = {name: outcome_of(files, "opencv5", tmp_path).problem for name, files in nets}
    assert {name: problem for name, problem in problems.items() if problem} == {}


@pytest.mark.parametrize("name", ["opencv4-caffe", *OPENCV])
def test_opencv_detects_faces_with_a_net_like_res10(name: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    outcome = outcome_of(_written(LIKE_RES10, tmp_path), name, tmp_path)
    assert outcome.problem == "" and bool(outcome.before) == (name in OPENCV)


@pytest.mark.parametrize("name", OPENCV)
def test_opencv_resizes_images(name: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    assert outcome_of(_written(RESIZES, tmp_path), name, tmp_path).problem == ""


@pytest.mark.parametrize("name", OPENCV)
def test_opencv_computes_detections_with_its_own_operator(name: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    outcome = outcome_of(write_net("ssd-shapes", tmp_path), name, tmp_path)
    assert outcome.problem == "" and outcome.before  # without it, OpenCV refuses the net


@pytest.mark.parametrize(
    ("name", "net"),
    [*((name, "squeezenet-1.1") for name in (*OPENCV, "onnxruntime", "openvino")), ("opencv5", "ssd-shapes")],
)
def test_sizes_that_stay_free_are_proved_in_the_target(name: str, net: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    files, output = write_net(net, tmp_path), str(tmp_path / "n.onnx")
    exported = export(
        net=files[0], weights=(files[1],), runtime=name, output=output, dynamic={"data": (1, 3, "H", "W")}
    )
    assert all(proof.difference is not None and proof.difference < 1e-4 for proof in exported.proofs)


def test_opencv5_needs_another_form_of_padded_1x1_convolutions(tmp_path: Path) -> None:
    install_target(TARGETS["opencv5"], unreported)
    outcome = outcome_of(_written(PADS_1X1, tmp_path), "opencv5", tmp_path)
    assert outcome.problem == "" and "differ by" in outcome.before


@pytest.mark.parametrize("name", ["onnxruntime", "openvino", *OPENCV, "tract"])
def test_quantized_nets_compute_as_in_onnxruntime(name: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    exported = export(net="shapes", runtime=name, int8=True, calibrate_items=50, output=str(tmp_path / "n.onnx"))
    assert exported.proofs[-1].what == f"in {name}, quantized" and exported.proofs[-1].difference is not None


def _written(net: str, folder: Path) -> tuple[str, str]:
    """Write a net with made-up weights, and return its files."""
    path = folder / "n.prototxt"
    path.write_text(net)
    model = with_made_up_weights(deploy_model(open_model(path)))
    first, second = write_caffe(model, path)
    return str(first), str(second)
