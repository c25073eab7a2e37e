from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl import LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError, NetError
from netdsl.spark.pipeline import params

PARAMS = NetParams(
    "small",
    RDDLayer("data", shape=[4, 3]),
    RDDLayer("label", shape=[4, 1]),
    LinearLayer("scores", ["data"], num_outputs=2),
    SoftmaxWithLoss("loss", ["scores", "label"]),
)


def test_a_net_of_any_kind_is_its_prototxt(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(PARAMS.prototxt())
    for value in (PARAMS, PARAMS.message, tmp_path / "net.prototxt", str(tmp_path / "net.prototxt"), PARAMS.prototxt()):
        assert from_text(params.net_of(value), pb.NetParameter) == PARAMS.message
    Net(PARAMS).save(tmp_path / "net.caffemodel")
    with pytest.raises(NetError, match=r"net\.caffemodel: the file contains weights; name it in weights"):
        params.net_of(tmp_path / "net.caffemodel")


def test_a_dict_of_settings_has_defaults() -> None:
    param = from_text(params.solver_of({"max_iter": 7, "base_lr": 0.5}), pb.SolverParameter)
    assert (param.max_iter, param.base_lr, param.momentum, param.type) == (7, 0.5, pytest.approx(0.9), "SGD")
    assert params.solver_of(params.solver_of({"max_iter": 7})) == params.solver_of({"max_iter": 7})
    assert from_text(params.solver_of(pb.SolverParameter(max_iter=7)), pb.SolverParameter).momentum == 0
    with pytest.raises(NetError, match="there is no setting 'maxiter'; did you mean max_iter"):
        params.solver_of({"maxiter": 7})


def test_a_solver_provides_its_net(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(PARAMS.prototxt())
    (tmp_path / "solver.prototxt").write_text('net: "net.prototxt"\nlr_policy: "fixed"\nmax_iter: 7\n')
    param = from_text(params.solver_of(tmp_path / "solver.prototxt"), pb.SolverParameter)
    assert (param.max_iter, param.net_param) == (7, PARAMS.message)


def test_strategies_transports_and_names_are_converted() -> None:
    assert params.strategy_of("averaging:tau=5") == params.strategy_of(ModelAveraging(tau=5))
    assert params.transport_of("relay") == params.transport_of(Transport.RELAY) == "relay"
    assert params.names_of({"data": "features"}) == {"data": "features"}
    assert params.paths_of(Path("a")) == params.paths_of("a") == params.paths_of(["a"]) == ["a"]


@pytest.mark.parametrize(
    ("convert", "value", "problem"),
    [
        (params.strategy_of, "averagin", "unknown strategy 'averagin'"),
        (params.transport_of, "bus", "transport must be one of shared-memory, gloo, nccl, relay, not 'bus'"),
        (params.names_of, {"data": 1}, "the value must be a dict from blob names"),
        (params.net_of, 1, "net must be a NetParams"),
        (params.solver_of, 1, "solver must be a dict"),
        (params.count_of, 0, "the value must be a whole number of 1 or more, not 0"),
        (params.count_of, 1.5, "not 1.5"),
        (params.function_of, 1, "preprocess must be a function, not 1"),
    ],
)
def test_invalid_params_are_refused(convert: Any, value: Any, problem: str) -> None:
    with pytest.raises((TypeError, DistributedError), match=problem):
        convert(value)
