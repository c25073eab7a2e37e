"""Runs on a server of S3: killed, resumed on other machines, damaged, and written by one process at a time."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer

from netdsl.distributed.run_storage import hold, run_folder
from tests.patience import PATIENCE
from tests.s3.conftest import KEYS, Start, Zoo

pytestmark = [pytest.mark.s3, pytest.mark.filterwarnings("default")]

RUN = "s3://models/runs/a"
TRAINED = """name: "digits"
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "digits" batch_size: 50 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 10
        weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """net: "net.prototxt" base_lr: 0.001 lr_policy: "fixed" max_iter: 1500 display: 500 snapshot: 500
random_seed: 1 snapshot_prefix: "digits" """
WORKERS = ("--workers", "2", "--strategy", "averaging:tau=10")


@pytest.fixture
def solver(bucket: Any, tmp_path: Path, start: Start) -> str:
    """Return the solver of a training of 150 rounds."""
    (tmp_path / "here" / "net.prototxt").write_text(TRAINED)
    (tmp_path / "here" / "solver.prototxt").write_text(SOLVER)
    return "solver.prototxt"


def keys(bucket: Any) -> set[str]:
    return {each.key.removeprefix("runs/a/") for each in bucket.objects.filter(Prefix="runs/a/")}


def content(bucket: Any, name: str) -> bytes:
    return bytes(bucket.Object(f"runs/a/{name}").get()["Body"].read())


def rounds(bucket: Any) -> list[str]:
    return sorted(name for name in keys(bucket) if name.endswith("/whole.json"))


def await_rounds(bucket: Any, after: str = "") -> str:
    """Wait until a newer round is published. Returns its name."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if (names := rounds(bucket)) and names[-1] > after:
            return names[-1]
        time.sleep(0.05)
    raise AssertionError("no round was published")


def on(machine: Path) -> dict[str, str]:
    """Return the environment of a machine with its own cache."""
    return {"XDG_CACHE_HOME": str(machine)}


def test_a_killed_run_is_resumed_on_other_machines_with_the_same_bits(
    bucket: Any, zoo: Zoo, start: Start, solver: str, tmp_path: Path
) -> None:
    assert zoo("train", "--solver", solver, *WORKERS, "--run", "local").code == 0
    undisturbed = (tmp_path / "here" / "local" / "model.caffemodel").read_bytes()
    first = start("train", "--solver", solver, *WORKERS, "--run", RUN, env=on(tmp_path / "first"))
    seen = await_rounds(bucket)
    first.kill()
    assert "model.caffemodel" not in keys(bucket), "it has ended already"
    second = start("train", "--resume", RUN, env=on(tmp_path / "second"))
    await_rounds(bucket, seen)
    second.kill()
    third = zoo("train", "--resume", RUN, env=on(tmp_path / "third"))
    assert third.code == 0 and "which has ended; this process takes it over" in third.err, third.err
    assert str(tmp_path / "third") not in third.out + third.err
    assert content(bucket, "model.caffemodel") == undisturbed
    assert (
        content(bucket, "digits_iter_500.solverstate") and len([each for each in keys(bucket) if "lease" in each]) == 1
    )
    shown = zoo("report", RUN, "--items", "10", env=on(tmp_path / "reader"))
    assert shown.code == 0 and "report.html" in keys(bucket) and "150 rounds" in shown.out, shown.err
    again = zoo("train", "--replay", RUN, "--run", "replayed", env=on(tmp_path / "reader"))
    assert again.code == 0, again.err
    assert (tmp_path / "here" / "replayed" / "model.caffemodel").read_bytes() == undisturbed
    left = {name for name in keys(bucket) if name.startswith("rounds/")}
    assert {name.split("/")[1] for name in left} == {name.split("/")[1] for name in rounds(bucket)}
    for machine in ("first", "second", "third", "reader"):
        for path in filter(Path.is_file, (tmp_path / machine).rglob("*")):
            assert KEYS["AWS_SECRET_ACCESS_KEY"].encode() not in path.read_bytes(), path
    for name in keys(bucket):
        assert KEYS["AWS_SECRET_ACCESS_KEY"].encode() not in content(bucket, name), name
        assert "control" not in name


def test_an_address_has_one_writer(
    bucket: Any, zoo: Zoo, endpoint: str, solver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint, **on(tmp_path / "here")}.items():
        monkeypatch.setenv(name, value)
    with hold(run_folder(RUN)):
        words = ("train", "--solver", solver, *WORKERS, "--run", RUN)
        held = zoo(*words, env={**on(tmp_path / "second"), "NETDSL_LEASE_SECONDS": "60"})
    assert held.code == 2 and f"{RUN}: the run is held by process {os.getpid()} of " in held.err, held.err
    assert not keys(bucket)


def test_damage_is_reported(bucket: Any, zoo: Zoo, start: Start, solver: str, tmp_path: Path) -> None:
    command = start("train", "--solver", solver, *WORKERS, "--run", RUN, env=on(tmp_path / "first"))
    await_rounds(bucket, await_rounds(bucket))
    command.kill()
    newest = rounds(bucket)[-1].replace("whole.json", "worker-1.npz")
    bucket.put_object(Key=f"runs/a/{newest}", Body=content(bucket, newest)[:-3])
    resumed = start("train", "--resume", RUN, env=on(tmp_path / "second"))
    await_rounds(bucket, rounds(bucket)[-1])
    resumed.kill()
    for name in rounds(bucket):
        bucket.Object(f"runs/a/{name.replace('whole.json', 'worker-0.npz')}").delete()
    lost = zoo("train", "--resume", RUN, env=on(tmp_path / "third"))
    assert lost.code == 2 and f"{RUN}/rounds: all saved rounds are damaged: {RUN}/rounds/round-" in lost.err, lost.err
    assert "worker-0.npz: the file is missing" in lost.err
    bucket.Object("runs/a/run.json").delete()
    none = zoo("train", "--resume", RUN, env=on(tmp_path / "fourth"))
    assert none.code == 2 and f"{RUN}/run.json: the run can't be read" in none.err, none.err


def test_data_at_an_address_are_found_on_another_machine(
    bucket: Any, zoo: Zoo, start: Start, solver: str, tmp_path: Path
) -> None:
    assert zoo("data", "convert", "digits", "lmdb:set").code == 0
    for path in (tmp_path / "here" / "set").iterdir():
        bucket.upload_file(str(path), f"set/{path.name}")
    words = ("train", "--solver", solver, "--data", "lmdb:s3://models/set", *WORKERS, "--run", RUN)
    command = start(*words, env=on(tmp_path / "first"))
    await_rounds(bucket)
    command.kill()
    shutil.rmtree(tmp_path / "first")  # other machines don't have it
    refused = zoo("train", "--resume", RUN, env=on(tmp_path / "second"))
    assert refused.code == 2 and "NETDSL_ALLOW_ADDRESSES=s3://models/" in refused.err, refused.err
    allowed = {**on(tmp_path / "second"), "NETDSL_ALLOW_ADDRESSES": "s3://models/"}
    resumed = zoo("train", "--resume", RUN, env=allowed)
    assert resumed.code == 0 and "model.caffemodel" in keys(bucket), resumed.err


def test_training_goes_on_while_the_server_is_down(start: Start, zoo: Zoo, solver: str, tmp_path: Path) -> None:
    import boto3

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    there = f"http://{host}:{port}"
    names = {"aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"]}
    bucket = boto3.resource("s3", endpoint_url=there, region_name="us-east-1", **names).Bucket("models")
    bucket.create()
    bucket.objects.delete()
    command = start("train", "--solver", solver, *WORKERS, "--run", RUN, env={"AWS_ENDPOINT_URL": there})
    await_rounds(bucket)
    server.stop()
    ended = command.done()
    assert ended.code == 2 and "still has everything" in ended.err, ended.err
    folder = Path(ended.err.partition("still has everything")[0].rpartition("; ")[2].strip())
    assert (folder / "model.caffemodel").exists() and os.path.commonpath([folder, tmp_path]) == str(tmp_path)
    server = ThreadedMotoServer(port=port, verbose=False)
    server.start()
    later = zoo("train", "--resume", RUN, env={"AWS_ENDPOINT_URL": there})
    assert later.code == 0 and "model.caffemodel" in keys(bucket), later.err
    assert content(bucket, "model.caffemodel") == (folder / "model.caffemodel").read_bytes()
    server.stop()
