"""`zoo time`: the table, the JSON, and the errors for wrong input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

NET = """
name: "small"
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 500000 } }
layer { name: "test" type: "ReLU" include { phase: TEST } bottom: "ip" top: "ip" }
"""


@pytest.fixture
def net(zoo) -> str:
    Path("net.prototxt").write_text(NET)
    return "net.prototxt"


def test_every_layer_and_the_total_have_a_line(zoo, net: str) -> None:
    code, out, err = zoo("time", net, "--phase", "TEST", "--iterations", "1")
    heads, *rows, whole = out.splitlines()
    assert (code, err) == (0, "")
    assert re.split("  +", heads) == ["layer", "type", "forward ms", "backward ms", "%", "GFLOP", "GFLOP/s", "MB"]
    assert [row.split()[0] for row in rows] == ["ip", "test", "total"]
    assert rows[0].split()[1] == "InnerProduct"
    ip, relu, total = ([float(cell) for cell in row.split()[-6:]] for row in rows)
    assert (ip[3], relu[3], total[3]) == (0.006, 0.001, 0.007)  # 2 * 2 * 3 * 500000, and 2 * 500000
    assert (ip[5], relu[5]) == (12, 8)  # bottom, top, weight and bias of four bytes: 6 + 10^6 + 1.5 * 10^6 + 0.5 * 10^6
    assert total[2] == 100 and ip[2] + relu[2] == pytest.approx(100, abs=0.11)  # each is rounded to a tenth
    assert whole.startswith("whole net: forward ")


def test_json_contains_every_layer(zoo, net: str) -> None:
    code, out, _ = zoo("time", net, "--json", "--iterations", "2", "--batch", "1")
    found = json.loads(out)
    assert code == 0
    assert found["forward"] > 0 and found["backward"] > 0
    assert {name: found[name] for name in ("net", "phase", "device", "iterations", "flops", "assumed")} == {
        "net": "small", "phase": "TRAIN", "device": "cpu", "iterations": 2, "flops": 3_000_000, "assumed": {}
    }  # fmt: skip
    (layer,) = found["layers"]
    assert set(layer) == {"name", "type", "forward", "backward", "flops", "bytes"}


def test_weights_are_loaded(zoo, net: str) -> None:
    assert zoo("time", net, "--weights", "gone.caffemodel").err == (
        "zoo: gone.caffemodel: can't be opened: No such file or directory; check the path and its permissions\n"
    )


def test_an_assumption_without_a_blob_is_reported(zoo, net: str) -> None:
    code, _, err = zoo("time", net, "--iterations", "1", "--assume", "y=3x4")
    assert (code, err) == (0, "zoo: warning: --assume y: no data layer produces this blob\n")


def test_an_unstated_shape_is_guessed_and_reported(zoo) -> None:
    Path("net.prototxt").write_text(
        'layer { name: "d" type: "Data" top: "x" data_param { source: "gone" batch_size: 2 } }'
        'layer { name: "r" type: "ReLU" bottom: "x" top: "r" }'
    )
    done = zoo("time", "net.prototxt", "--iterations", "1", "--json")
    assert (
        "the shape of the data is unknown: 'x' is assumed to be 3x224x224; to set it, use --assume x=SHAPE" in done.err
    )
    assert json.loads(done.out)["data"] == {"x": {"shape": [3, 224, 224], "known": "guessed"}}
    done = zoo("time", "net.prototxt", "--iterations", "1", "--json", "--assume", "x=3x5x4")
    assert (done.err, json.loads(done.out)["data"]) == ("", {"x": {"shape": [3, 5, 4], "known": "said"}})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (None, "zoo: net.prototxt: can't be opened: No such file or directory; check the path and its permissions\n"),
        ("layer { name: 'a' type: 'Convolutoin' }", "did you mean Convolution?"),
        ("layer { name: 'a' type: 'ReLU' bottom: 'b' top: 'a' }", "bottom 'b' isn't a top of any layer before it"),
        (NET.replace("{ name", "{ include { phase: TEST } name"), "the net has no layers in phase TRAIN"),
    ],
)
def test_a_broken_net_is_reported_in_one_line(zoo, text: str | None, what: str) -> None:
    if text is not None:
        Path("net.prototxt").write_text(text)
    code, out, err = zoo("time", "net.prototxt")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert what in err


def test_a_net_without_layers_takes_no_time(zoo) -> None:
    Path("empty.prototxt").write_text('layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 } } }')
    code, out, _ = zoo("time", "empty.prototxt", "--iterations", "1")
    assert code == 0 and out.splitlines()[1].split() == ["total", "0.000", "0.000", "0.0", "0.0000", "0.00", "0.00"]
