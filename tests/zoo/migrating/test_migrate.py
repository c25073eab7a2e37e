"""`zoo opencv migrate`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from converters.targets.target import TARGETS
from netdsl import LinearLayer, Net, NetParams, RDDLayer, Softmax
from tests.converters.targets.conftest import Ready, ready
from tests.registered import restored
from tests.zoo.cli.conftest import Zoo, needs_onnx, zoo

__all__ = ["ready", "zoo"]

PROGRAM = """import cv2

NET = "models/net.prototxt"
first = cv2.dnn.readNetFromCaffe(NET, "models/net.caffemodel")
other = cv2.dnn.readNetFromCaffe(given_net, given_weights)"""
CPP = """#include <opencv2/dnn.hpp>
cv::dnn::Net net = cv::dnn::readNetFromCaffe("../models/net.prototxt", "../models/net.caffemodel");
cv::dnn::Net gone = cv::dnn::readNetFromCaffe("gone.prototxt", "gone.caffemodel");
"""


@pytest.fixture
def project(zoo: Zoo, ready: Ready, tmp_path: Path) -> Iterator[Path]:
    """Provide a project with a program in each language, and a target 'here'."""
    root = Path("project")
    (root / "models").mkdir(parents=True)
    (root / "src").mkdir()
    layers = RDDLayer("data", shape=[1, 3, 4, 5]), LinearLayer("ip", ["data"], num_outputs=4), Softmax("prob", ["ip"])
    params = NetParams("small", *layers)
    Net(params).save(root / "models/net.caffemodel")
    assert zoo("convert", "project/models/net.caffemodel", "project/models/both.onnx").code == 0
    assert zoo("convert", "project/models/both.onnx", "project/models/net.prototxt").code == 0
    (root / "models/both.onnx").unlink()
    (root / "detect.py").write_text(PROGRAM)
    (root / "src/detect.cpp").write_text(CPP)
    (root / ".venv").mkdir()
    (root / ".venv/other.py").write_text(PROGRAM)
    with restored(TARGETS):
        TARGETS.register("here", ready())
        yield root


@needs_onnx
def test_models_are_exported_and_a_patch_is_written(zoo: Zoo, project: Path) -> None:
    code, out, err = zoo("opencv", "migrate", "project", "--for", "here")
    assert out.splitlines() == [
        "detect.py:4: reads models/net.onnx, written to models/net.onnx",
        "src/detect.cpp:2: reads ../models/net.onnx, written to models/net.onnx",
        "wrote opencv5.patch; look at it, and apply it with: git apply opencv5.patch",
    ]
    assert code == 2
    assert "detect.py:5: the call doesn't name its files as constants; export them with `zoo export" in err
    assert "src/detect.cpp:3: gone.prototxt isn't in the project, or is there twice; put it there" in err
    assert (project / "detect.py").read_text() == PROGRAM and (project / "models/net.onnx").is_file()
    subprocess.run(["git", "apply", "../opencv5.patch"], cwd=project, check=True)
    changed = PROGRAM.replace('readNetFromCaffe(NET, "models/net.caffemodel")', 'readNetFromONNX("models/net.onnx")')
    assert (project / "detect.py").read_text() == changed
    assert 'cv::dnn::readNetFromONNX("../models/net.onnx");' in (project / "src/detect.cpp").read_text()


@needs_onnx
def test_a_model_that_differs_in_the_target_stays(zoo: Zoo, project: Path, ready: Ready) -> None:
    TARGETS._values["here"] = ready("def run(files, inputs, outputs):\n    raise ValueError('no')")
    found = json.loads(zoo("opencv", "migrate", "project", "--for", "here", "--json").out)
    assert found["patch"] is None and "The program can't run net.onnx: no" in found["calls"][0]["reason"]
    assert not Path("opencv5.patch").exists() and not (project / "models/net.onnx").exists()


def test_a_folder_without_calls_says_so(zoo: Zoo) -> None:
    Path("plain").mkdir()
    Path("plain/a.py").write_text("x = 1\n")
    assert zoo("opencv", "migrate", "plain") == (0, "no source reads a Caffe model with OpenCV\n", "")
    assert "gone: there is no such folder" in zoo("opencv", "migrate", "gone").err


@needs_onnx
def test_a_file_that_the_source_names_without_its_folder_is_found(zoo: Zoo, project: Path) -> None:
    (project / "src/detect.cpp").write_text('auto net = cv::dnn::readNetFromCaffe("net.prototxt", "net.caffemodel");\n')
    (project / "detect.py").unlink()
    out = zoo("opencv", "migrate", "project", "--for", "here").out
    assert out.splitlines()[0] == "src/detect.cpp:1: reads net.onnx, written to models/net.onnx"
