"""A small ONNX model is computed only as far as the work is within the limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_proto.errors import CaffeError
from converters.onnx_import import from_onnx
from tests.converters.nets import layer_types

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import helper  # noqa: E402

from tests.attacks import onnx_builders as attacks  # noqa: E402

LOOP = "constants that Loop computes can't be converted; run onnxsim on the model first"
REFUSED: dict[str, tuple[Any, str]] = {
    "range": (attacks.huge_range(), "'c' of shape .* needs 1,073,741,824 values .* NETDSL_LIMITS=values="),
    "hidden range": (attacks.hidden_range(), "'c', which Range computes, needs 1,073,741,824 values"),
    "concats": (attacks.doubling_concats(), "needs 268,435,456 values"),
    "tiles": (attacks.growing_tiles(), "needs 1,073,741,824 values"),
    "copies": (attacks.many_copies(40, 4_000_000), "with those before it needs .* bytes .* the limit 'memory' allows"),
    "product": (attacks.large_product(), "operations or more, but the limit 'operations' allows"),
    "loop": (attacks.endless_loop(inside_a_branch=False), LOOP),
    "loop in a branch": (attacks.endless_loop(), LOOP),
    "many nodes": (attacks.chain(5_001), "the graph needs 5,001 nodes"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_small_model_that_asks_for_much_work_is_refused_before_the_work(kind: str, tmp_path: Path) -> None:
    model, reason = REFUSED[kind]
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(CaffeError, match=rf"net\.onnx: .*{reason}"):
        from_onnx(path)


def test_loops_whose_results_are_not_read_are_not_run(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(attacks.unread_loop().SerializeToString())
    assert layer_types(from_onnx(path)) == ["Bias"]


def test_the_branch_that_a_constant_chooses_is_computed() -> None:
    def branch(operator: str) -> Any:
        nodes = [helper.make_node("Constant", [], ["c"], value_floats=[1.0, 2.0, 3.0]),
                 helper.make_node(operator, ["c"], ["d"])]  # fmt: skip
        return helper.make_graph(nodes, "branch", [], [helper.make_tensor_value_info("d", 1, (3,))])

    node = helper.make_node("If", ["yes"], ["e"], then_branch=branch("Neg"), else_branch=branch("Abs"))
    net = from_onnx(attacks.added(node, last="e", yes=np.array(True)))
    assert [blob.tolist() for blobs in net.weights.values() for blob in blobs] == [[-1, -2, -3]]


def test_a_setting_allows_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETDSL_LIMITS", "operations=1000")
    with pytest.raises(CaffeError, match="operations"):
        from_onnx(attacks.growing_tiles(1))
    monkeypatch.setenv("NETDSL_LIMITS", "operations=1G")
    from_onnx(attacks.added(helper.make_node("Neg", ["c"], ["d"]), last="d", c=np.ones(3, np.float32)))


def test_many_nodes_are_renamed_without_a_search_of_the_net(monkeypatch: pytest.MonkeyPatch) -> None:
    net = from_onnx(attacks.chain(300), verify=False)
    assert [layer.top[0] for layer in net.net.layer][1:] == [*(f"r{index}" for index in range(1, 300)), "y"]


def test_the_pass_that_verifies_an_import_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netdsl.net.work._USES", 0)
    monkeypatch.setenv("NETDSL_LIMITS", "pass-operations=1")
    with pytest.raises(CaffeError, match=r"the pass that verifies the import needs .* the limit 'pass-operations'"):
        from_onnx(attacks.chain(3))
    from_onnx(attacks.chain(3), verify=False)
