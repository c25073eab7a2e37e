from __future__ import annotations

from pathlib import Path

import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, write
from netdsl.distributed.journal import Keeping
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.errors import DistributedError
from netdsl.net.graph import Phase
from netdsl.tables.table import Table


def test_there_and_back(param: pb.SolverParameter, tmp_path: Path) -> None:
    tables = {Phase.TRAIN: Table("arrow:rows", {"data": "image"}, shuffle=True), Phase.TEST: Table("digits")}
    plan = Run(
        param,
        ModelAveraging(7),
        3,
        str(tmp_path),
        ("a.caffemodel",),
        ("cpu", "cpu"),
        tables=tables,
        keeping=Keeping(5, 4),
    )
    plan.save(tmp_path / "run")
    assert Run.load(tmp_path / "run") == plan


def test_a_settled_plan_needs_no_other_file(param: pb.SolverParameter, tmp_path: Path) -> None:
    write(CaffeFile(param.net_param), tmp_path / "net.prototxt")
    named = pb.SolverParameter(net="net.prototxt", test_iter=[2], test_net=["net.prototxt"], weights=["w.caffemodel"])
    plan = Run(named, ModelAveraging(), 2, str(tmp_path)).settled()
    assert not plan.solver.HasField("net") and not plan.solver.test_net
    assert plan.solver.net_param.layer == param.net_param.layer == plan.solver.test_net_param[0].layer
    assert plan.solver.random_seed >= 0
    assert plan.weights == ("w.caffemodel",)


def test_a_folder_has_one_run(param: pb.SolverParameter, tmp_path: Path) -> None:
    Run(param, ModelAveraging(), 2).save(tmp_path)
    with pytest.raises(DistributedError, match="has a run already; resume it"):
        Run(param, ModelAveraging(), 2).save(tmp_path)


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(DistributedError, match="can't be read: No such file"):
        Run.load(tmp_path)
    (tmp_path / "run.json").write_text('{"size": 2}')
    with pytest.raises(DistributedError, match="is damaged"):
        Run.load(tmp_path)


def test_no_workers(param: pb.SolverParameter) -> None:
    with pytest.raises(DistributedError, match="0 workers"):
        Run(param, ModelAveraging(), 0)
