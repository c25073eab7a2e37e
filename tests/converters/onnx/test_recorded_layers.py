"""Every layer that Caffe was recorded with, as an ONNX model: onnxruntime beside Caffe, and beside torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from netdsl import Net
from netdsl.errors import ConversionError

pytest.importorskip("onnxruntime")

from converters.onnx import to_onnx, verify
from converters.onnx.library import inference_session

DATA = Path(__file__).parents[2] / "data/layers"
ARRAYS = np.load(DATA / "recorded.npz")
CASES = dict(part.split("\n", 1) for part in (DATA / "cases.prototxts").read_text().split("## ")[1:])
TESTED = {case: text for case, text in CASES.items() if "phase: TRAIN" not in text.split("\n")[0]}
WITHOUT_FORM = {"ssd_multibox_softmax"}

# Sums in another order, relative to the largest value: what two correct float32 programs differ by.
TOLERANCE = 2e-5


def recorded(case: str) -> dict[str, dict[str, NDArray[np.float32]]]:
    """Arrays by kind and name."""
    found: dict[str, dict[str, NDArray[np.float32]]] = {}
    for key in ARRAYS.files:
        if key.startswith(f"{case}:"):
            kind, _, name = key.partition(":")[2].partition("/")
            found.setdefault(kind, {})[name] = ARRAYS[key]
    return found


def net_of(case: str, folder: Path) -> Net:
    path = folder / f"{case}.prototxt"
    path.write_text(TESTED[case])
    weights: dict[str, list[NDArray[np.float32]]] = {}
    for name, array in sorted(recorded(case).get("param", {}).items()):
        weights.setdefault(name.rpartition("/")[0], []).append(array)
    return Net(path, weights=weights or None)


@pytest.mark.parametrize("case", sorted(TESTED.keys() - WITHOUT_FORM))
def test_a_model_computes_what_caffe_computed(case: str, tmp_path: Path) -> None:
    net, wanted = net_of(case, tmp_path), recorded(case)
    model = to_onnx(net)
    run = inference_session(model.SerializeToString())
    names = [each.name for each in run.get_outputs()]
    given = {each.name: wanted["in"][each.name] for each in run.get_inputs()}
    found = dict(zip(names, run.run(names, given), strict=True))
    assert found.keys() & wanted["out"].keys()
    for name in found.keys() & wanted["out"].keys():
        assert found[name].shape == wanted["out"][name].shape
        largest = max(1e-2, np.abs(wanted["out"][name]).max(initial=0))
        assert np.abs(found[name] - wanted["out"][name]).max(initial=0) <= TOLERANCE * largest, name
    report = verify(model, net)
    assert report.passed, report


@pytest.mark.parametrize("case", sorted(WITHOUT_FORM))
def test_a_layer_without_a_form_is_named(case: str, tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match=r"layer 'l' of type .* has no ONNX form"):
        to_onnx(net_of(case, tmp_path))
