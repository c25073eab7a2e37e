"""Addresses in options and arguments: an error at once where only a path works, and no folder of the scheme's name."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path

import pytest

from converters.caffe import export_caffe
from netdsl.data.sources.open_source import parse_source
from netdsl.errors import CaffeError, StorageError
from netdsl.model.model import open_net
from netdsl.storage.local_copies import ALLOWED
from tests.memory_storage import Put, stored
from tests.zoo.cli.conftest import Zoo
from zoo.cli.commands import COMMANDS
from zoo.cli.request_command import Command, loaded
from zoo.requests.request import RequestError, RequestField, fields_of
from zoo.requests.using import FeaturesRequest

RUN = "hdfs://n/run"
COMMAND_LINES = {
    "curves": ["train", "lenet", "--data", "digits", "--plot", RUN],
    "config": ["show", "net.prototxt", "--config", f"{RUN}.yaml"],
    "Caffe's command": ["caffe", "train", "-solver", RUN],
    "Caffe's tool": ["caffe", "upgrade_net_proto_text", "a.prototxt", RUN],
}


@pytest.mark.parametrize("words", COMMAND_LINES.values(), ids=COMMAND_LINES)
def test_an_address_where_only_a_path_works_is_an_error_at_once(words: list[str], zoo: Zoo) -> None:
    done = zoo(*words)
    assert done.code == 2 and "this must be" in done.err and "on this machine, not an address" in done.err
    assert "hdfs://n/run" in done.err and "`hdfs dfs`" in done.err and not list(Path.cwd().iterdir())


def takes_text(field: RequestField) -> bool:
    said, kind = field.said, field.kind
    is_name = (
        field.choices or "names" in said or said.get("parse") or (isinstance(kind, type) and issubclass(kind, Enum))
    )
    return kind in (str, Path) and not is_name


def test_every_text_that_can_be_a_path_is_checked() -> None:
    commands = [command for command in COMMANDS.values() if isinstance(command, Command)]
    fields = [field for each in commands for field in fields_of(loaded(f"zoo.requests.{each.request}"))]
    passed = {field.name for field in fields if takes_text(field) and field.said.get("address") == "other"}
    assert passed == {"master", "remote", "mlflow", "model", "weights", "text", "arguments", "data"}
    read = {field.name for field in fields if field.reads_addresses}
    assert {"net", "files", "solver", "source", "data", "inputs", "weights"} < read
    used = {field.name for field in fields if field.said.get("address")}
    assert {"folder", "resume", "replay", "runs"} < used
    assert {"log", "snapshot"} < used and not used & {"tensorboard", "plot", "lock"}
    for field in filter(takes_text, fields):
        with pytest.raises(RequestError, match="not an address"):
            field.check_paths(("s3://bucket/x",) if field.is_repeated else "s3://bucket/x")
        with pytest.raises(RequestError, match="not an address"):
            field.check_paths(Path("s3://bucket/x"))


def test_spark_reads_and_writes_its_own_addresses() -> None:
    spark = FeaturesRequest(net="lenet", data="x://b/rows", output="y://b/out", blobs=("ip1",), backend="spark")
    with spark.with_local_files() as local:
        assert (local.data, local.output) == ("x://b/rows", "y://b/out")
    with pytest.raises(StorageError, match="y://"):
        FeaturesRequest(net="lenet", data="rows", output="y://b/out", blobs=("ip1",)).with_local_files().__enter__()


def test_a_program_gets_the_same_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = open_net("lenet")
    for call in (
        lambda: export_caffe(model, "s3://bucket/lenet"),
        lambda: parse_source("lmdb:sftp://host/train"),
    ):
        with pytest.raises(CaffeError, match="on this machine, not an address"):
            call()
    assert not list(tmp_path.iterdir())


def test_snapshots_and_a_log_are_published(zoo: Zoo, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("net.prototxt").write_text(
        """layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "digits" batch_size: 5 } }
        layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 10 } }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }"""
    )
    Path("solver.prototxt").write_text(
        'net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 2 snapshot_prefix: "memory://bucket/a"'
    )
    words = ["train", "--solver", "solver.prototxt", "--log", "memory://bucket/log.jsonl"]
    refused = zoo(*words)
    assert refused.code == 2 and "a file names this address" in refused.err and not stored()
    monkeypatch.setenv(ALLOWED, "memory://bucket/")
    checked = zoo("check", "solver.prototxt")
    assert checked.code == 0 and "in memory://bucket" in checked.out, checked.out
    done = zoo(*words)
    assert done.code == 0 and "memory://bucket/a_iter_2" in done.out, done.err
    names = {"/bucket/a_iter_2.caffemodel", "/bucket/a_iter_2.resume.json", "/bucket/a_iter_2.solverstate"}
    assert {*stored()} == {*names, "/bucket/log.jsonl"}
    more = zoo(*words, "--snapshot", "memory://bucket/a_iter_2.solverstate", "--max-iter", "3", "--json")
    assert more.code == 0, more.err
    assert json.loads(more.out)["snapshot"]["state"] == "memory://bucket/a_iter_3.solverstate"
    run = zoo("train", "--solver", "solver.prototxt", "--workers", "1")
    assert run.code == 0 and "/bucket/a_run/model.caffemodel" in stored(), run.err
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["net.prototxt", "solver.prototxt"]
