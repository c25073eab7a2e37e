"""`zoo draw`: nets as pictures."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

NET = """
name: "n<e>t"
layer { name: "data" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
layer { name: "<script>alert(1)</script>" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "relu" type: "ReLU" bottom: "c" top: "c" }
layer { name: "bell\\007" type: "Pooling" bottom: "c" top: "p" pooling_param { kernel_size: 2 } }
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _net(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(NET)


def test_an_svg_has_every_layer_as_text(zoo) -> None:
    done = zoo("draw", "net.prototxt")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("net.svg: n<e>t, phase TEST: 4 layers in 3 boxes, 452 x ")
    root = ElementTree.parse("net.svg").getroot()
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"data", "<script>alert(1)</script>", "+ relu (ReLU)", "bell\\x07"} <= set(texts)
    assert not list(root.iter(f"{SVG}script"))
    assert len(list(root.iter(f"{SVG}polygon"))) == 2  # an arrow for each wire


def test_a_png_is_valid_and_a_drawing_to_the_right_is_wide(zoo) -> None:
    for direction in ("down", "right"):
        assert zoo("draw", "net.prototxt", "-o", f"{direction}.png", "--direction", direction).code == 0
    sizes = {}
    for direction in ("down", "right"):
        data = Path(f"{direction}.png").read_bytes()
        assert data.startswith(b"\x89PNG")
        sizes[direction] = struct.unpack(">II", data[16:24])
    assert sizes["down"][1] > sizes["right"][1] and sizes["right"][0] > sizes["down"][0]


def test_assumed_shapes_are_reported(zoo) -> None:
    done = zoo("draw", "lenet", "--phase", "TRAIN")
    assert done.code == 0
    assert Path("lenet.svg").exists() and "phase TRAIN" in done.out


def test_files_that_cannot_be_drawn_are_refused(zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    assert zoo("draw", "net.prototxt", "-o", "net.gif").err == (
        "zoo: net.gif: not the name of a picture; use a name that ends in .svg or .png\n"
    )
    assert zoo("draw", "missing.prototxt").code == 2
    assert zoo("draw", "net.prototxt", "-o", "no/net.svg").code == 2
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert zoo("draw", "net.prototxt", "-o", "net.png").err == (
        "zoo: drawing a net as PNG needs matplotlib; an SVG needs no extra package: pip install 'netdsl[logs]'\n"
    )
    assert not Path("net.png").exists()
    assert zoo("draw", "net.prototxt").code == 0
