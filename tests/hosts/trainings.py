"""The same small training on one machine, and on several hosts by each launcher."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path

import pyspark

from caffe_proto.files import read_net
from netdsl.distributed.run_worker import MODEL
from netdsl.model.weights.match import arrays_of
from netdsl.spark.java import find_java
from tests.hosts.laboratory import REPOSITORY, Laboratory, Program, name_of
from tests.hosts.mpiexec import start_mpiexec

MASTER_PORT = 29500
NET = """
layer { name: "data" type: "Data" top: "data" top: "label"
  data_param { source: "csv:numbers.csv?columns=a,b,c&label=label" batch_size: 8 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
_SOLVER = (
    'net: "net.prototxt" base_lr: 0.05 lr_policy: "fixed" momentum: 0.9 random_seed: 3 snapshot_after_train: false'
)
_ITEMS = 200
SETTINGS = {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "NETDSL_PROGRESS": "no"}
_SPARK_PORT = 7077
_SPARK = Path(pyspark.__file__).parent


class Launcher(Enum):
    """The program that starts the workers."""

    TORCHRUN = "torchrun"  # MASTER_ADDR is the first host's name
    KUBEFLOW = "kubeflow"  # the same, but "localhost" on the first host
    SLURM = "slurm"  # there is no MASTER_ADDR
    MPI = "mpi"
    SPARK = "spark"  # standalone, with the driver on the first host


RANKED = (Launcher.TORCHRUN, Launcher.KUBEFLOW, Launcher.SLURM)  # each worker is a command with its rank


def training_command(folder: Path, *options: str, net: str = NET, iterations: int = 4) -> list[str]:
    """Write the files of a training into a folder, and return the command that trains there."""
    rows = [f"{i % 7},{i * i % 11},{i % 5 - 2},{i % 3}" for i in range(_ITEMS)]
    (folder / "numbers.csv").write_text("\n".join(["a,b,c,label", *rows, ""]))
    (folder / "net.prototxt").write_text(net)
    (folder / "solver.prototxt").write_text(f"{_SOLVER} max_iter: {iterations}")
    words = ["--solver", "solver.prototxt", "--strategy", "averaging:tau=2", "--device", "cpu", "--run", "run"]
    return [sys.executable, "-m", "zoo", "train", *words, *options]


def train_on_one_machine(folder: Path, workers: int, *options: str, iterations: int) -> dict[str, bytes]:
    """Train with processes of this machine, and return the weights."""
    command = training_command(folder, "--backend", "local", "--workers", str(workers), *options, iterations=iterations)
    subprocess.run(command, cwd=folder, env={**os.environ, **SETTINGS}, check=True)
    return trained_weights(folder)


def trained_weights(folder: Path) -> dict[str, bytes]:
    """Return the bits of the weights of each layer after a training in a folder."""
    weights = arrays_of(read_net(folder / "run" / MODEL))
    return {name: b"".join(blob.tobytes() for blob in blobs) for name, blobs in weights.items()}


def start_training(
    launcher: Launcher,
    laboratory: Laboratory,
    command: Sequence[str],
    spark: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    workers: int | None = None,
) -> list[Program]:
    """Start a training on all hosts, and return its programs. The first one is that of the first worker.

    `spark` are Spark's settings, and the environment's variables are set for all workers. Spark starts a worker for
    each host, unless it is to start fewer.
    """
    settings = {**SETTINGS, **(environment or {})}
    match launcher:
        case Launcher.MPI:
            output = laboratory.folder / "mpiexec.txt"
            return [start_mpiexec(laboratory, [*command, "--backend", "mpi"], output, settings)]
        case Launcher.SPARK:
            words = ["--workers", str(workers or len(laboratory.hosts))]
            return [_start_spark(laboratory, [*command, *words], spark, settings)]
    size = len(laboratory.hosts)
    return [
        host.start(
            [*command, "--backend", "external"],
            laboratory.folder / f"{host.name}.txt",
            {**settings, **_rank_settings(launcher, host.number, size)},
        )
        for host in laboratory.hosts
    ]


def _rank_settings(launcher: Launcher, rank: int, size: int) -> dict[str, str]:
    """Return the variables that a launcher sets for a worker that is alone on its host."""
    if launcher is Launcher.SLURM:
        words = {"PROCID": rank, "NTASKS": size, "LOCALID": 0, "NTASKS_PER_NODE": 1, "STEP_ID": 0, "JOB_ID": 1}
        return {f"SLURM_{name}": str(value) for name, value in words.items()}
    words = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": MASTER_PORT}
    master = "localhost" if launcher is Launcher.KUBEFLOW and rank == 0 else name_of(0)
    return {"MASTER_ADDR": master, **{name: str(value) for name, value in words.items()}}


def _start_spark(
    laboratory: Laboratory, command: Sequence[str], configuration: Sequence[str], settings: Mapping[str, str]
) -> Program:
    """Start Spark's master on the first host and a worker on each, then the training as a driver on the first."""
    folder, first = laboratory.folder, laboratory.hosts[0]
    java = Path(find_java().program).parents[1]
    settings = {**settings, "JAVA_HOME": str(java), "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m"}
    words = [f"--conf {setting}" for setting in (f"spark.netdsl.port={MASTER_PORT}", *configuration)]
    settings["PYSPARK_SUBMIT_ARGS"] = " ".join([*words, "pyspark-shell"])
    if ":" in first.address:
        settings["SPARK_DAEMON_JAVA_OPTS"] = settings["JDK_JAVA_OPTIONS"] = "-Djava.net.preferIPv6Addresses=true"
    master = f"spark://{_in_url(first.address)}:{_SPARK_PORT}"
    program = [str(_SPARK / "bin/spark-class"), "org.apache.spark.deploy"]

    def start(host_number: int, kind: str, *words: str) -> Program:
        host = laboratory.hosts[host_number]
        here = {"SPARK_WORKER_DIR": "/tmp/work", "SPARK_LOCAL_DIRS": "/tmp/local", "SPARK_LOCAL_IP": host.address}
        daemon = [program[0], f"{program[1]}.{kind}", "--host", _in_url(host.address)]
        return host.start([*daemon, *words], folder / f"{kind}-{host.name}.txt", {**settings, **here})

    started = start(0, "master.Master", "--port", str(_SPARK_PORT), "--webui-port", "0")
    first.await_listener(_SPARK_PORT, started)
    for host in laboratory.hosts:
        start(host.number, "worker.Worker", "--cores", "1", "--memory", "2g", "--webui-port", "0", master)
    words = [*command, "--backend", "spark", "--master", master]
    return first.start(words, folder / "driver.txt", settings)


def _in_url(address: str) -> str:
    """Return an address as Spark needs it, which puts IPv6 into brackets."""
    return f"[{address}]" if ":" in address else address
