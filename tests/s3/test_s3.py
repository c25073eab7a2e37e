"""Nets, weights, solvers and data on a server of S3."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from netdsl import Net
from tests.s3.conftest import Zoo

pytestmark = [pytest.mark.s3, pytest.mark.filterwarnings("default")]

TRAINED = """name: "digits"
layer { name: "data" type: "Data" top: "data" top: "label"
        data_param { source: "SOURCE" backend: LMDB batch_size: 50 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 10
        weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = 'net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" max_iter: 4 display: 2 snapshot_after_train: false'


def copies(folder: Path) -> list[str]:
    kept = folder / "cache" / "netdsl" / "addresses"
    return sorted(path.name for path in kept.iterdir()) if kept.exists() else []


def test_a_net_is_shown_and_checked(bucket: Any, zoo: Zoo, tmp_path: Path) -> None:
    bucket.put_object(Key="nets/net.prototxt", Body=TRAINED.replace("SOURCE", "train"))
    shown = zoo("show", "s3://models/nets/net.prototxt")
    assert shown.code == 0 and "InnerProduct" in shown.out and len(copies(tmp_path)) == 1
    wrong = TRAINED.replace('bottom: "ip" ', 'bottom: "pi" ')
    bucket.put_object(Key="nets/net.prototxt", Body=wrong)  # another version
    checked = zoo("check", "s3://models/nets/net.prototxt")
    assert checked.code == 1 and "pi" in checked.out and "s3://models/nets/net.prototxt" in checked.out
    assert str(tmp_path) not in checked.out + checked.err and len(copies(tmp_path)) == 2


def test_a_net_with_weights_predicts(bucket: Any, zoo: Zoo, tmp_path: Path) -> None:
    text = """input: "data" input_shape { dim: 1 dim: 1 dim: 8 dim: 8 }
        layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 10 } }
        layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }"""
    (tmp_path / "net.prototxt").write_text(text)
    Net(str(tmp_path / "net.prototxt")).save(str(tmp_path / "w.caffemodel"))
    for name in ("net.prototxt", "w.caffemodel"):
        bucket.upload_file(str(tmp_path / name), f"nets/{name}")
    here = zoo("predict", str(tmp_path / "net.prototxt"), "digits:test", "--weights", str(tmp_path / "w.caffemodel"))
    there = zoo("predict", "s3://models/nets/net.prototxt", "digits:test", "--weights", "s3://models/nets/w.caffemodel")
    assert there.code == 0 and there.out == here.out and there.out.count("\n") > 100


def test_a_solver_trains_with_its_net_and_data(bucket: Any, zoo: Zoo, tmp_path: Path) -> None:
    made = zoo("data", "convert", "digits", "lmdb:digits_lmdb")
    assert made.code == 0, made.err
    folder = tmp_path / "here" / "digits_lmdb"
    for path in folder.iterdir():
        bucket.upload_file(str(path), f"nets/digits_lmdb/{path.name}")
    local = zoo("train", "--solver", "s3://models/none.prototxt")
    assert local.code == 2 and "there is no such file" in local.err
    bucket.put_object(Key="nets/net.prototxt", Body=TRAINED.replace("SOURCE", "digits_lmdb"))
    bucket.put_object(Key="nets/solver.prototxt", Body=SOLVER + " random_seed: 1")
    here = zoo("train", "--solver", "s3://models/nets/solver.prototxt")
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()  # now it is only next to the net in the storage
    there = zoo("train", "--solver", "s3://models/nets/solver.prototxt")
    assert there.code == 0, there.err
    losses = [re.findall(r"iteration \d+  loss [\d.]+", done.out) for done in (here, there)]
    assert losses[0] and losses[0] == losses[1]
    kept = zoo("train", "--solver", "s3://models/nets/solver.prototxt", "--workers", "2", "--run", "run")
    assert kept.code == 0, kept.err
    data = zoo("train", "--solver", "s3://models/nets/solver.prototxt", "--data", "lmdb:s3://models/nets/digits_lmdb")
    assert data.code == 0, data.err
    assert not (tmp_path / "here" / "s3:").exists()


def test_parquet_is_read(bucket: Any, zoo: Zoo, tmp_path: Path) -> None:
    assert zoo("data", "convert", "digits", "parquet:rows.parquet").code == 0
    bucket.upload_file(str(tmp_path / "here" / "rows.parquet"), "rows.parquet")
    here, there = zoo("data", "show", "rows.parquet"), zoo("data", "show", "s3://models/rows.parquet")
    assert there.code == 0 and there.out.splitlines()[1:] == here.out.splitlines()[1:]


@pytest.mark.parametrize(
    ("address", "env", "problem"),
    [
        ("s3://nobody/net.prototxt", {}, "s3://nobody/net.prototxt: there is no such file or folder"),
        ("s3://models/none.prototxt", {}, "s3://models/none.prototxt: there is no such file or folder"),
        ("s3://models/x", {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, "the storage refuses access"),
        ("s3://models/x", {"AWS_ENDPOINT_URL": "BAD"}, "the storage refuses access"),
        ("s3://models/cut.caffemodel", {"AWS_ENDPOINT_URL": "BAD"}, "s3://models/cut.caffemodel: "),
        ("s3://models/x", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "s3://models/x: can't be reached: "),
    ],
)
def test_a_problem_of_the_storage_is_a_sentence(
    address: str, env: dict[str, str | None], problem: str, bucket: Any, zoo: Zoo, bad_server: str, tmp_path: Path
) -> None:
    done = zoo("show", address, env={name: bad_server if value == "BAD" else value for name, value in env.items()})
    assert done.code == 2 and problem in done.err and done.err.count("\n") == 1 and not copies(tmp_path)


def test_results_are_published(bucket: Any, zoo: Zoo, tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(
        """input: "data" input_shape { dim: 1 dim: 1 dim: 8 dim: 8 }
        layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 10 } }"""
    )
    net, weights = str(tmp_path / "net.prototxt"), str(tmp_path / "w.caffemodel")
    Net(net).save(weights)
    done = zoo("convert", weights, "s3://models/out/w.caffemodel.h5")
    assert done.code == 0 and "s3://models/out/w.caffemodel.h5" in done.out and str(tmp_path) not in done.out, done.err
    done = zoo("predict", net, "digits:test", "--weights", weights, "--as", "values", "-o", "s3://models/out/a.jsonl")
    assert done.code == 0, done.err
    assert {each.key for each in bucket.objects.all()} == {"out/w.caffemodel.h5", "out/a.jsonl"}
    read = zoo("diff", weights, "s3://models/out/w.caffemodel.h5")
    assert "blob 0: equal" in read.out and "blob 1: equal" in read.out, read.err
    lost = zoo("convert", weights, "s3://nobody/w.caffemodel.h5")
    assert lost.code == 2 and "copy the result from" in lost.err


def test_exports_data_and_snapshots_are_published(bucket: Any, zoo: Zoo, tmp_path: Path) -> None:
    made = zoo("data", "convert", "digits", "lmdb:s3://models/digits_lmdb")
    assert made.code == 0, made.err
    assert [each.key for each in bucket.objects.all()] == ["digits_lmdb/data.mdb"]
    again = zoo("data", "convert", "digits", "lmdb:s3://models/digits_lmdb")
    assert again.code == 2 and "the address has files already" in again.err
    folder = tmp_path / "here"
    (folder / "net.prototxt").write_text(TRAINED.replace("SOURCE", "lmdb:s3://models/digits_lmdb"))
    solver = SOLVER.replace("snapshot_after_train: false", 'snapshot: 2 snapshot_prefix: "s3://models/snaps/a"')
    (folder / "solver.prototxt").write_text(solver)
    words, env = ["train", "--solver", "solver.prototxt"], {"NETDSL_ALLOW_ADDRESSES": "s3://models/"}
    done = zoo(*words, "--log", "s3://models/log.jsonl", env=env)
    assert done.code == 0 and "s3://models/snaps/a_iter_4" in done.out, done.err
    kinds = ("caffemodel", "resume.json", "solverstate")
    snapshots = {f"snaps/a_iter_{number}.{kind}" for number in (2, 4) for kind in kinds}
    assert {each.key for each in bucket.objects.all()} == {"digits_lmdb/data.mdb", "log.jsonl", *snapshots}
    resumed = zoo(*words, "--snapshot", "auto", "--max-iter", "6", env=env)
    assert resumed.code == 0 and "s3://models/snaps/a_iter_6" in resumed.out, resumed.err
    net, weights = "s3://models/out/deploy.prototxt", "s3://models/snaps/a_iter_6.caffemodel"
    done = zoo("export", "net.prototxt", "--weights", weights, "--to", "caffe", "-o", "s3://models/out", env=env)
    assert done.code == 0 and f"wrote {net}" in done.out and zoo("show", net).code == 0, done.err
