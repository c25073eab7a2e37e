from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, write
from caffe_proto.text.prototxt import text_of
from netdsl.data.batches.reading import BadItems, Loading
from netdsl.data.tables.table import Table
from netdsl.distributed.journal import Retention
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.settings import STRATEGIES, parse
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError
from netdsl.net.compute_precision import ComputePrecision
from netdsl.net.graph import Phase
from netdsl.solver.settings import open_settings
from netdsl.solver.trainable_net import Compute


@pytest.mark.parametrize("strategy", [*STRATEGIES, "averaging:tau=auto,weighted=false", "elastic:alpha=0.25"])
def test_a_run_is_read_as_it_was_written(param: pb.SolverParameter, tmp_path: Path, strategy: str) -> None:
    run = Run(
        open_settings(param),
        parse(strategy),
        3,
        tmp_path,
        ("a.caffemodel", "b.safetensors"),
        "some.solverstate",
        Compute(torch.device("cpu"), ComputePrecision.BF16, True, Loading(workers=7, bad=BadItems.SKIP)),
        (torch.device("cpu"), torch.device("cuda:1")),
        threads=5,
        tables={Phase.TRAIN: Table("arrow:rows", {"data": "image"}, shuffle=True), Phase.TEST: Table("digits")},
        transport=Transport.GLOO,
        deadline=7.5,
        keeping=Retention(5, 4),
    )
    run.save(tmp_path / "run")
    assert Run.load(tmp_path / "run") == run


def test_a_moved_runs_own_files_are_those_in_its_new_folder(param: pb.SolverParameter, tmp_path: Path) -> None:
    before, now = tmp_path / "run", tmp_path / "moved"
    param.snapshot_prefix = f"{before}/small"
    param.net_param.layer[0].data_param.source = f"{before}/train_items.txt"
    weights = (f"{before}/weights0_a.caffemodel", f"{tmp_path}/running/b.caffemodel", f"/mnt{before}/c.caffemodel")
    tables = {Phase.TRAIN: Table(f"arrow:{before}/data/train")}
    Run(open_settings(param), weights=weights, tables=tables).save(before)
    before.rename(now)
    run = Run.load(now)
    assert run.solver.param.snapshot_prefix == f"{now}/small"
    assert run.solver.net_to_train.net.layer[0].data_param.source == f"{now}/train_items.txt"
    assert run.weights == (f"{now}/weights0_a.caffemodel", *weights[1:])
    assert run.tables[Phase.TRAIN].source == f"arrow:{now}/data/train"


def test_a_settled_run_needs_no_other_file(param: pb.SolverParameter, tmp_path: Path) -> None:
    write(CaffeFile(param.net_param), tmp_path / "net.prototxt")
    named = pb.SolverParameter(net="net.prototxt", test_iter=[2], test_net=["net.prototxt"], weights=["w.caffemodel"])
    run = Run(open_settings(named, tmp_path), workers=2, folder=tmp_path).settled()
    message = run.solver.message
    assert not message.HasField("net") and not message.test_net
    for net in (message.net_param, message.test_net_param[0]):
        assert text_of(net) == text_of(param.net_param)
    assert message.random_seed >= 0
    assert run.weights == ("w.caffemodel",)


def test_a_folder_of_a_run_is_only_for_its_owner(param: pb.SolverParameter, tmp_path: Path) -> None:
    Run(open_settings(param), workers=2).save(tmp_path / "run")
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("variables", "starter"), [({}, ""), ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "mpiexec -n 2 ")])
def test_a_folder_contains_only_one_run(
    param: pb.SolverParameter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    starter: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    Run(open_settings(param), workers=2).save(tmp_path)
    with pytest.raises(
        DistributedError, match=f"contains a run; .* continue that one: {starter}zoo train --resume {tmp_path}"
    ):
        Run(open_settings(param), workers=2).save(tmp_path)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DistributedError, match="can't be read: No such file"):
        Run.load(tmp_path)


def test_a_run_of_another_version_is_refused_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"strategy": "averaging:tau=50", "size": 2}')
    with pytest.raises(DistributedError, match=r"another version of netdsl.*start a new run, and pass the model"):
        Run.load(tmp_path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"workers": 2', '"workers": "two"'),
        ('"workers": 2', '"workers": 0'),
        ('"name": "averaging"', '"name": "avarage"'),
        ('"precision": "exact"', '"precision": "exactly"'),
        ('"device": "cpu"', '"device": "abacus"'),
        ("{", "["),
    ],
)
def test_a_damaged_run_is_refused(param: pb.SolverParameter, tmp_path: Path, before: str, after: str) -> None:
    Run(open_settings(param), workers=2).save(tmp_path)
    text = (tmp_path / "run.json").read_text()
    assert before in text
    (tmp_path / "run.json").write_text(text.replace(before, after, 1))
    with pytest.raises(
        DistributedError, match=r"run.json: the file is damaged|run.json: the strategy '.*' is unknown|0 workers"
    ):
        Run.load(tmp_path)


def test_a_run_without_workers_is_refused(param: pb.SolverParameter) -> None:
    with pytest.raises(DistributedError, match="0 workers"):
        Run(open_settings(param), workers=0)


def test_nccl_needs_a_gpu_for_each_worker(param: pb.SolverParameter) -> None:
    gpus = (torch.device("cuda:0"), torch.device("cuda:1"))
    run = Run(open_settings(param), workers=3, devices=gpus, transport=Transport.NCCL)
    assert replace(run, workers=2).with_transport(per_machine=2).transport is Transport.NCCL
    with pytest.raises(DistributedError, match="nccl needs a GPU for each worker"):
        run.with_transport(per_machine=3)
    assert replace(run, transport=None).with_transport(per_machine=3).transport is not Transport.NCCL


def test_a_run_with_a_name_that_is_not_utf_8_is_refused(param: pb.SolverParameter, tmp_path: Path) -> None:
    weights = (os.fsdecode(b"ad\xff.caffemodel"),)
    with pytest.raises(DistributedError, match=r"run: the run can't be saved, since .* isn't UTF-8; rename the file"):
        Run(open_settings(param), weights=weights).save(tmp_path / "run")


def test_a_run_that_was_moved_to_a_name_that_is_not_utf_8_is_refused(param: pb.SolverParameter, tmp_path: Path) -> None:
    Run(open_settings(param)).save(tmp_path / "run")
    moved = (tmp_path / "run").rename(tmp_path / os.fsdecode(b"ad\xff"))
    with pytest.raises(DistributedError, match=r"the path isn't UTF-8, .*; rename the folder"):
        Run.load(moved)
