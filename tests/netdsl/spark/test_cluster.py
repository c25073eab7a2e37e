from __future__ import annotations

import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from netdsl.distributed.control.place import NetworkPlace
from netdsl.errors import DistributedError
from netdsl.spark.cluster import Cluster
from netdsl.spark.session import open_session

TRAIN = ["train", "lenet", "--data", "digits", "--max-iter", "4", "--workers", "2", "--backend", "spark"]


def cluster(**settings):
    """Return a cluster that has only settings, whose names are given without dots."""
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    session = object.__new__(type("Settings", (SparkSession,), {"conf": None, "sparkContext": None}))
    session.conf = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    session.sparkContext = SimpleNamespace(getConf=dict, master="yarn")
    return Cluster(session)


def test_the_drivers_listening_and_public_addresses_may_differ():
    assert cluster(driver_host="10.1.2.3").place == NetworkPlace.at("10.1.2.3")
    found = cluster(driver_host="10.1.2.3", driver_bindAddress="0.0.0.0").place
    assert (found.hosts, found.bound) == (("10.1.2.3",), "0.0.0.0")
    assert cluster(driver_host="[fd00::7]").place == NetworkPlace.at("fd00::7")


def test_ports_can_be_chosen():
    assert cluster().ports == (0,)
    assert cluster(netdsl_port="7337").ports == (7337,)
    assert cluster(netdsl_port="7337-7339").ports == (7337, 7338, 7339)
    for text in ("-1", "65536", "http", "7337.0", ""):
        with pytest.raises(DistributedError, match=rf"spark.netdsl.port is '{text}'; give a port up to 65535"):
            assert cluster(netdsl_port=text).ports


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({"master": "local-cluster[3,5,1024]", "task_cpus": "2"}, 6),
        ({"master": "spark://a:7077", "cores_max": "7", "task_cpus": "2"}, 3),
        ({"master": "yarn", "executor_instances": "2", "executor_cores": "3", "task_cpus": "2"}, 2),
    ],
)
def test_more_workers_than_possible_are_refused_at_once(settings, most):
    with pytest.raises(DistributedError, match=rf"{most + 1} workers need .* has slots for at most {most}; "):
        cluster(**settings).await_slots(most + 1)


@pytest.mark.spark
def test_more_workers_than_this_process_has_slots_for_are_refused_at_once():
    program = (
        "from netdsl.errors import DistributedError\n"
        "from netdsl.spark.cluster import Cluster\n"
        "from netdsl.spark.session import SETTINGS, open_session\n"
        "with open_session('local[2]', {**SETTINGS, 'spark.ui.enabled': 'false'}) as session:\n"
        "    Cluster(session).await_slots(2)\n"
        "    try: Cluster(session).await_slots(3)\n"
        "    except DistributedError as problem: print(problem)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "3 workers need the same number of tasks at once, but this Spark has slots for at most 2;" in done.stdout


def test_a_missing_master_is_reported_before_java_starts(tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.chdir(tmp_path)
    with socket.socket() as closed, socket.socket() as another:
        for each in (closed, another):
            each.bind(("127.0.0.1", 0))  # bound, but not listening
        ports = [each.getsockname()[1] for each in (closed, another)]
        master = f"spark://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}"
        program = f"import sys; sys.argv = {['zoo', *TRAIN, '--master', master]}; from zoo.cli import main; main()"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        f"zoo: no Spark master listens at {master} (Connection refused; Connection refused); start it, or name a "
        "master that is running\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_missing_server_of_spark_connect_is_reported_at_once(tmp_path, monkeypatch):
    pytest.importorskip("grpc_status")
    monkeypatch.chdir(tmp_path)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        remote = f"sc://127.0.0.1:{closed.getsockname()[1]}/;token=hidden"
        program = f"import sys; sys.argv = {['zoo', *TRAIN, '--remote', remote]}; from zoo.cli import main; main()"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"zoo: no server of Spark Connect listens at {remote.partition('/;')[0]} (Connection")
    assert "hidden" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
def test_an_existing_session_is_used_and_stays(session):
    with open_session("local[1]") as found:
        assert found.sparkContext.master == session.sparkContext.master
    assert session.range(3).count() == 3


@pytest.mark.spark
@pytest.mark.parametrize("begin", ["open_session('local[1]')", "nullcontext(SparkSession.builder.getOrCreate())"])
def test_workers_of_a_spark_on_this_machine_run_in_this_python(begin, tmp_path):
    """The first `python3` on the path can't even run."""
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "python3").chmod(0o755)
    program = (
        "from contextlib import nullcontext\n"
        "from pyspark.sql import SparkSession\n"
        "from netdsl.spark.cluster import Cluster\n"
        "from netdsl.spark.session import open_session\n"
        f"with {begin} as session:\n"
        "    job = Cluster(session).submit(1, lambda rank: [__import__('sys').executable], 'where')\n"
        "    print(job.has_ended(60), job.problem(), *job.results())\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["True", sys.executable], done.stderr


@pytest.mark.spark
def test_python_files_of_the_current_folder_are_not_run(tmp_path):
    """The session belongs to a command line in a folder with another user's model."""
    for name in ("secrets", "torch", "msgspec"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    program = (
        "import sys\n"
        "from netdsl.spark.session import SETTINGS, open_session\n"
        "with open_session('local[1]', {**SETTINGS, 'spark.ui.enabled': 'false'}) as session:\n"
        "    imported = session.sparkContext.parallelize([0], 1).map(lambda _: __import__('secrets').__file__)\n"
        "    print(imported.collect())\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, str(tmp_path) in done.stdout) == (0, False), done.stderr
    assert not (tmp_path / "executed").exists()
