"""Every layer compared with Caffe's own results: outputs, and the gradients of inputs and parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from netdsl import pycaffe

pytestmark = pytest.mark.usefixtures("pycaffe_on_device")

DATA = Path(__file__).parent.parent / "data/layers"
ARRAYS = np.load(DATA / "recorded.npz")
CASES = dict(part.split("\n", 1) for part in (DATA / "cases.prototxts").read_text().split("## ")[1:])

# Sums in another order, relative to the largest value: the amount by which two correct float32 programs differ.
TOLERANCE = 2e-5


def recorded(case: str) -> dict[str, NDArray[np.float32]]:
    return {key.partition(":")[2]: ARRAYS[key] for key in ARRAYS.files if key.startswith(f"{case}:")}


def difference(got: NDArray[np.float32], wanted: NDArray[np.float32]) -> float:
    assert got.shape == wanted.shape
    if not wanted.size:
        return 0.0
    return float(np.abs(got.astype(np.float64) - wanted).max() / max(1e-2, np.abs(wanted).max()))


def split(key: str) -> tuple[str, int]:
    layer, _, index = key.rpartition("/")
    return layer, int(index)


@pytest.mark.parametrize("case", CASES)
def test_a_layer_computes_the_same_as_caffe(case: str, tmp_path: Path) -> None:
    path = tmp_path / f"{case}.prototxt"
    path.write_text(CASES[case])
    net = pycaffe.Net(str(path), pycaffe.TRAIN if "phase: TRAIN" in CASES[case].split("\n")[0] else pycaffe.TEST)
    wanted = recorded(case)
    for key, value in wanted.items():
        kind, _, rest = key.partition("/")
        if kind == "in":
            net.blobs[rest].data[...] = value
        elif kind == "param":
            layer, index = split(rest)
            net.params[layer][index].data[...] = value
    net.forward()
    compare(net, wanted, {"out": "data", "after": "data"})
    if any(key.startswith(("din/", "dparam/")) for key in wanted):
        net.clear_param_diffs()
        net.backward(**{key[5:]: value for key, value in wanted.items() if key.startswith("dout/")})
        compare(net, wanted, {"din": "diff", "dparam": "diff"})


def compare(net: pycaffe.Net, wanted: dict[str, NDArray[np.float32]], kinds: dict[str, str]) -> None:
    for key, value in wanted.items():
        kind, _, rest = key.partition("/")
        if kind not in kinds:
            continue
        if kind in ("after", "dparam"):
            layer, index = split(rest)
            blob = net.params[layer][index]
        else:
            blob = net.blobs[rest]
        assert difference(getattr(blob, kinds[kind]), value) <= TOLERANCE, key
