"""Training and predictions over Spark Connect: the same bits as with a classic session. The server and its
clients are processes of their own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netdsl.spark.java import find_java
from tests.netdsl.spark.conftest import workers_of
from tests.netdsl.spark.separable_points import POINTS, trained_bits
from tests.patience import PATIENCE

pytestmark = pytest.mark.spark
pytest.importorskip("grpc_status", reason="Spark Connect needs the extra connect")

REPOSITORY = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
TRAIN = ["train", "lenet", "--data", "digits", "--workers", "2", "--max-iter", "30", "--strategy", "averaging:tau=2"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server of Spark Connect."""
    import pyspark

    place = tmp_path_factory.mktemp("server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.local.dir": str(place),
        "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
        "spark.sql.artifact.copyFromLocalToFs.allowDestLocal": "true",
    }
    words = [Path(pyspark.__file__).parent / "bin/spark-submit", "--master", "local[2]"]
    words += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    java = str(Path(find_java().program).resolve().parents[1])
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "JAVA_HOME": java, "PYTHONPATH": str(REPOSITORY)}
    output = place / "server.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            list(map(str, words)), cwd=place, env=environment, stdout=file, stderr=file, start_new_session=True
        )
    try:
        until = time.monotonic() + PATIENCE
        while not _listens(port):
            assert process.poll() is None and time.monotonic() < until, output.read_text()
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def called(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    here = {**os.environ, "PYTHONPATH": str(REPOSITORY), **environment}
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, env=here)


def test_a_client_trains_and_predicts_the_same_bits_as_a_classic_session(server: str, tmp_path: Path) -> None:
    seen = list[dict[str, Any]]()
    for address, folder in (("local[2]", "classic"), (server, "client")):
        done = called("-m", "tests.netdsl.spark.estimator_driver", address, tmp_path / folder)
        assert done.returncode == 0, done.stderr
        seen.append(json.loads(done.stdout.splitlines()[-1]))
    refusal = seen[1].pop("refusal")
    assert seen[0].pop("refusal") == ""
    assert seen[0] == seen[1]
    assert seen[1]["right"] > 0.9 * len(POINTS)
    assert [row[0] for row in seen[1]["rows"]] == seen[1]["loaded"]
    assert refusal.startswith(
        "net.on(...) trains with an RDD, which Spark Connect doesn't have; open a classic session"
    )


def test_the_command_line_survives_a_lost_worker(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    alone = called("-m", "zoo", *TRAIN, "--run", "alone")
    assert alone.returncode == 0, alone.stderr
    run = tmp_path / "run"
    words = ["-m", "zoo", *TRAIN, "--backend", "spark", "--remote", server, "--address", "127.0.0.1", "--run", "run"]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as done:
        until = time.monotonic() + PATIENCE
        while not (killed := [*run.glob("rounds/*")] and workers_of(run)):
            assert done.poll() is None and time.monotonic() < until, done.communicate()[0]
            time.sleep(0.05)
        os.kill(killed[0], signal.SIGKILL)
        text = done.communicate()[0]
    assert done.returncode == 0, text
    assert "all workers start again from the last saved round" in text
    assert trained_bits(run) == trained_bits(tmp_path / "alone")


def test_tables_are_predicted_and_tested(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import parquet, table

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARK_REMOTE", server)
    (tmp_path / "net.prototxt").write_text(
        'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 8 dim: 4 } } }\n'
        'layer { name: "scores" type: "InnerProduct" bottom: "data" top: "scores" '
        'inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }\n'
    )
    features, labels = zip(*POINTS, strict=True)
    parquet.write_table(table({"data": features, "label": labels}), tmp_path / "rows.parquet")
    train = "from netdsl import Net; net = Net('net.prototxt'); net.save('weights.caffemodel')"
    assert called("-c", train).returncode == 0
    words = ["features", "net.prototxt", "parquet:rows.parquet", "--weights", "weights.caffemodel", "--blob", "scores"]
    words[2] = f"parquet:{tmp_path}/rows.parquet"
    on_spark = called("-m", "zoo", *words, "--backend", "spark", "-o", tmp_path / "on_spark")
    assert on_spark.returncode == 0, on_spark.stderr
    again = called("-m", "zoo", *words, "--backend", "spark", "-o", tmp_path / "on_spark")
    assert "the folder already exists, and Spark writes only new folders" in again.stderr
    here = called("-m", "zoo", *words, "-o", tmp_path / "here.parquet", SPARK_REMOTE="")
    assert here.returncode == 0, here.stderr
    columns = [parquet.read_table(tmp_path / name)["scores"].to_pylist() for name in ("on_spark", "here.parquet")]
    assert len(columns[0]) == len(POINTS)
    assert columns[0] == columns[1]
