"""A Spark that assigns GPUs to its tasks, on machines whose torch sees none."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from netdsl.distributed.run import Run
from netdsl.distributed.run_worker import MODEL
from tests.netdsl.spark.test_submit import BIN, TRAIN, called

pytestmark = [pytest.mark.spark, pytest.mark.skipif(torch.cuda.is_available(), reason="tasks would train on the GPU")]

RESOURCES = {
    "spark.worker.resource.gpu.amount": "1",
    "spark.executor.resource.gpu.amount": "1",
    "spark.task.resource.gpu.amount": "1",
}


@pytest.fixture
def submit(tmp_path: Path) -> list[str | Path]:
    """Return the beginning of a command that submits to a Spark which believes it has a GPU for each task."""
    script = tmp_path / "gpus.sh"
    script.write_text("""#!/bin/sh\necho '{"name": "gpu", "addresses": ["3"]}'\n""")
    script.chmod(0o755)
    settings = {**RESOURCES, "spark.worker.resource.gpu.discoveryScript": str(script), "spark.ui.enabled": "false"}
    options = [option for name, value in settings.items() for option in ("--conf", f"{name}={value}")]
    return [BIN / "spark-submit", "--master", "local-cluster[2,1,1024]", *options, BIN / "zoo-spark.py"]


def test_workers_use_the_gpus_that_spark_assigns(submit: list[Any], folder: Path) -> None:
    failed = called(*submit, *TRAIN, folder, PYSPARK_PYTHON=sys.executable)
    assert failed.returncode == 2
    assert f"zoo: {socket.gethostname()}: torch finds no GPU, although 3 was assigned; " in failed.stdout


def test_workers_compute_on_the_users_device(submit: list[Any], folder: Path) -> None:
    done = called(*submit, *TRAIN, folder, "--device", "cpu", PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / MODEL).exists()
    assert Run.load(folder).devices == (torch.device("cpu"),)


def test_predicting_tasks_check_for_the_named_device(session: Any, model: Any, frame: Any) -> None:
    assert model.setDevice("cpu").transform(frame).count() == 3
    with pytest.raises(Exception, match="torch finds no GPU"):
        model.setDevice("cuda:1").transform(frame).collect()


@pytest.fixture
def frame(session: Any) -> Any:
    return session.createDataFrame([([0.0, 1.0, 2.0, 3.0],)] * 3, "data array<double>")


@pytest.fixture
def model(session: Any) -> Any:
    from netdsl import LinearLayer, Net, NetParams, RDDLayer
    from netdsl.spark import NetModel

    params = NetParams("small", RDDLayer("data", shape=[2, 4]), LinearLayer("scores", ["data"], num_outputs=3))
    return NetModel(params, Net(params).get_weights())
