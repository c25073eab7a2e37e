"""Exports in the programs that will run them, each in an environment of its own. `make test-targets` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from converters.running import unreported
from converters.targets.environment import install_target
from converters.targets.target import TARGETS
from tests.targets.table import outcome_of, write_net

pytestmark = pytest.mark.targets

OPENCV = ("opencv4", "opencv5", "opencv5-classic")


@pytest.fixture(scope="session", params=TARGETS.own())
def target(request: pytest.FixtureRequest) -> str:
    install_target(TARGETS[request.param], unreported)
    return request.param


@pytest.mark.parametrize("net", ["lenet", "googlenet", "mnist-siamese", "resnet-18"])
def test_every_target_agrees_about_plain_nets(target: str, net: str, tmp_path: Path) -> None:
    assert outcome_of(write_net(net, tmp_path), target, tmp_path)[0].startswith("agrees: ")


@pytest.mark.parametrize("net", ["shapes", "cifar10-full", "shufflenet"])
def test_every_reader_of_onnx_agrees_about_averages_over_parts_of_windows(
    target: str, net: str, tmp_path: Path
) -> None:
    if TARGETS[target].format == "caffe":
        pytest.skip("the target reads the pooling layer itself")
    assert outcome_of(write_net(net, tmp_path), target, tmp_path)[0].startswith("agrees: ")


@pytest.mark.parametrize("name", OPENCV)
def test_opencv_computes_detections_with_its_own_operator(name: str, tmp_path: Path) -> None:
    install_target(TARGETS[name], unreported)
    cell, _ = outcome_of(write_net("ssd-shapes", tmp_path), name, tmp_path)
    assert cell.startswith("agrees: ") and cell.endswith("with its own operators")
