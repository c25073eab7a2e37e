"""Training a program's net on several workers with one call."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
import torch

from netdsl import Action, EarlyStopping, Net
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers.local import LocalLauncher, LocalWorkers
from netdsl.distributed.run_log import RoundRecord
from netdsl.errors import DataError, DistributedError
from netdsl.solver import events as tell
from netdsl.solver.events import Event, TrainingStarted
from netdsl.training.backends import LocalBackend
from tests.netdsl.training.program import LABELS, ROWS, net_of
from tests.patience import PATIENCE

PROGRAM = Path(__file__).with_name("program.py")
PAIR = (ROWS, LABELS)
SETTINGS: dict[str, Any] = {"type": "Adam", "base_lr": 1e-3, "random_seed": 3}


def weights_of(net: Net) -> np.ndarray:
    return np.concatenate([np.asarray(array).ravel() for array in net.get_weights()["ip"]])


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    """Return the final weights of two local workers."""
    net = net_of()
    net.train(PAIR, epochs=5, workers=2, strategy="averaging:tau=5", **SETTINGS)
    return weights_of(net)


def test_one_worker_ends_with_the_bits_of_training_in_this_process() -> None:
    alone, one = net_of(), net_of()
    assert alone.train(PAIR, epochs=2, **SETTINGS) > 0
    one.train(PAIR, epochs=2, workers=1, **SETTINGS)
    assert (weights_of(alone) == weights_of(one)).all()


def test_two_workers_share_the_epochs(expected: np.ndarray) -> None:
    """Five epochs of 80 items take 25 iterations with two workers that read 8 items each."""
    net, events = net_of(), list[Event]()
    net.train(PAIR, epochs=5, workers=2, strategy="averaging:tau=5", callbacks=[events.append], **SETTINGS)
    (start,) = (event for event in events if isinstance(event, TrainingStarted))
    assert (start.last, start.items) == (25, 16)
    assert (weights_of(net) == expected).all()
    assert net.history[-1].iteration <= 25 and not np.isnan([each.loss for each in net.history]).any()


@pytest.mark.parametrize("backend", ["mpi", pytest.param("spark", marks=pytest.mark.spark)])
def test_every_backend_ends_with_the_same_bits(backend: str, expected: np.ndarray) -> None:
    net = net_of()
    net.train(PAIR, epochs=5, workers=2, backend=backend, strategy="averaging:tau=5", **SETTINGS)
    assert (weights_of(net) == expected).all()


@pytest.mark.parametrize("backend", ["local", "mpi", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_frame_is_trained_on_and_a_run_can_be_kept(backend: str, tmp_path: Path) -> None:
    kept = tmp_path / "runs" / "first"
    with spark_session() if backend == "spark" else nullcontext() as session:
        frame: Any = pd.DataFrame({"data": list(ROWS), "label": LABELS})
        if session is not None:
            rows = [(row.tolist(), int(label)) for row, label in zip(ROWS, LABELS, strict=True)]
            frame = session.createDataFrame(rows, ["data", "label"])
        net = net_of()
        net.train(frame, epochs=5, workers=2, backend=backend, strategy="averaging:tau=50", run=kept)
    assert (weights_of(Net(net_of().message, weights=kept / "model.caffemodel")) == weights_of(net)).all()
    assert (kept / "data" / "train").is_dir()


@contextmanager
def spark_session() -> Iterator[Any]:
    """Return the Spark session that other tests have open, or a new one on this machine that is stopped afterwards."""
    from pyspark.sql import SparkSession

    others = SparkSession.getActiveSession()
    session = others or SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        yield session
    finally:
        if others is None:
            session.stop()


@pytest.mark.parametrize("launcher", ["mpiexec", "torchrun"])
def test_ranks_of_a_program_train_together(launcher: str, tmp_path: Path) -> None:
    local = net_of()
    loss = local.train(PAIR, epochs=5, workers=2, **SETTINGS)
    again = local.train(10, workers=2)
    outcomes = run_as_ranks(launcher, tmp_path / "out")
    assert len(outcomes) == 2
    for outcome in outcomes:
        assert (np.concatenate([outcome["arr_0"].ravel(), outcome["arr_1"]]) == weights_of(local)).all()
        assert (outcome["loss"], outcome["again"]) == (loss, again)


def test_an_error_in_the_first_rank_ends_all_ranks(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text(
        "from tests.netdsl.training.program import LABELS, ROWS, net_of\n"
        "net_of().train((ROWS[:, :2], LABELS), epochs=1)\n"
    )
    mpiexec = str(Path(sys.executable).parent / "mpiexec")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, str(program)],
        timeout=PATIENCE, env=environment, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode != 0
    assert "doesn't fit 'data', which needs [3]" in ended.stderr


def test_a_rank_may_train_alone(tmp_path: Path) -> None:
    net = net_of()
    net.train(PAIR, epochs=5, **SETTINGS)
    net.train(10)
    for outcome in run_as_ranks("torchrun", tmp_path / "out", "alone"):
        assert np.allclose(outcome["arr_0"].ravel(), weights_of(net)[:6], atol=1e-6)


def run_as_ranks(launcher: str, out: Path, *arguments: str) -> list[Any]:
    scripts = Path(sys.executable).parent
    starter = (
        [str(scripts / "mpiexec"), "-n", "2", sys.executable]
        if launcher == "mpiexec"
        else [str(scripts / "torchrun"), "--standalone", "--nproc-per-node", "2"]
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [*starter, str(PROGRAM), str(out), *arguments], check=True, timeout=PATIENCE, env=environment, cwd=out.parent
    )
    return [np.load(path) for path in sorted(out.iterdir())]


@pytest.mark.parametrize("together", [{}, {"workers": 2, "strategy": "averaging:tau=5"}], ids=["alone", "two"])
def test_tests_follow_each_epoch_and_stop_training_without_improvement(together: dict[str, Any]) -> None:
    net, events = net_of(), list[Event]()
    stopping = EarlyStopping(patience=2, metric="accuracy", least_change=2.0)  # no result is that much better
    net.train(PAIR, epochs=50, test_data=PAIR, callbacks=[events.append, stopping], **together, **SETTINGS)
    tests = [event.iteration for event in events if isinstance(event, tell.TestFinished)]
    epoch = 5 if together else 10
    assert tests[:3] == [epoch, 2 * epoch, 3 * epoch] and len(tests) < 50
    assert stopping.best_iteration == epoch
    assert [each.iteration for each in net.history if each.tested] == tests


def test_a_callback_stops_several_workers_and_the_net_has_what_they_learned() -> None:
    net, rounds, before = net_of(), list[RoundRecord](), weights_of(net_of())

    def stop(event: Event) -> Action | None:
        return Action.STOP if rounds else None

    net.train(PAIR, 100_000, workers=2, strategy="averaging:tau=5", callbacks=[stop], on_round=rounds.append)
    assert {record.rank for record in rounds} == {0, 1}
    assert (weights_of(net) != before).any()


def test_an_interrupted_run_is_resumed_by_the_same_call(tmp_path: Path) -> None:
    def stop_at_once(event: Event) -> Action:
        return Action.STOP

    call: dict[str, Any] = {"workers": 2, "strategy": "averaging:tau=5", "run": tmp_path / "run", **SETTINGS}
    net_of().train(PAIR, 200, callbacks=[stop_at_once], **call)
    with pytest.raises(DistributedError, match="contains a run with other settings; name another folder"):
        net_of().train(PAIR, 300, **call)
    net = net_of()
    net.train(PAIR, 200, **call)
    assert net.history[-1].iteration >= 190
    whole = net_of()
    whole.train(PAIR, 200, **{**call, "run": None})
    assert (weights_of(net) == weights_of(whole)).all()
    with pytest.raises(DistributedError, match="contains a finished run; name another folder for a new one"):
        net.train(PAIR, 200, **call)


def test_data_of_this_process_alone_are_not_divided() -> None:
    def batches() -> Any:
        return {"data": ROWS[:8], "label": LABELS[:8]}

    with pytest.raises(DataError, match="can't be divided among workers; give arrays, a Dataset, a table"):
        net_of().train(batches, 10, workers=2)


@pytest.mark.parametrize(
    "environment",
    [{"RANK": "1", "WORLD_SIZE": "2"}, {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0"}],
)
def test_ranks_of_several_machines_need_a_folder_that_all_see(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(DistributedError, match="on several machines; name a folder that all of them can see, as run="):
        net_of().train(PAIR, epochs=1)


def test_an_unknown_backend_is_refused_with_a_list() -> None:
    with pytest.raises(DistributedError, match="no backend 'sparc'; choose from local, spark, mpi, external"):
        net_of().train(PAIR, 10, workers=2, backend="sparc")


def test_allreduce_computes_the_same_as_one_worker() -> None:
    alone, two = net_of(), net_of()
    alone.train(PAIR, epochs=3, **SETTINGS)
    two.train(PAIR, epochs=3, workers=2, strategy="allreduce", **SETTINGS)
    assert np.allclose(weights_of(alone), weights_of(two), rtol=1e-5)  # sums in another order
    assert torch.tensor(weights_of(two)).isfinite().all()


class ElsewhereLauncher(LocalLauncher):
    """Starts workers that don't find the modules of this process, as on other machines."""

    def start(self, spec: WorkerSpec) -> LocalWorkers:
        return super().start(msgspec.structs.replace(spec, python=dict.fromkeys(spec.python, "/nowhere")))


class ElsewhereBackend(LocalBackend):
    def launcher(self) -> ElsewhereLauncher:
        return ElsewhereLauncher()


def test_workers_elsewhere_get_the_modules_of_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("doubling_here.py").write_text(
        "from pathlib import Path\n"
        "class Doubling:\n"
        "    def __init__(self, layer): pass\n"
        "    def setup(self, bottom, top):\n"
        "        with Path(self.param_str).open('a') as file: file.write(f'{__file__}\\n')\n"
        "    def reshape(self, bottom, top): top[0].reshape(*bottom[0].shape)\n"
        "    def forward(self, bottom, top): top[0].data[...] = 2 * bottom[0].data\n"
        "    def backward(self, top, down, bottom): bottom[0].diff[...] = 2 * top[0].diff\n"
    )
    Path("net.prototxt").write_text(
        'layer { name: "in" type: "Input" top: "data" top: "label" '
        "input_param { shape { dim: [8, 3] } shape { dim: [8, 1] } } }"
        'layer { name: "twice" type: "Python" bottom: "data" top: "twice" '
        f'python_param {{ module: "doubling_here" layer: "Doubling" param_str: "{tmp_path}/files" }} }}'
        'layer { name: "ip" type: "InnerProduct" bottom: "twice" top: "ip" inner_product_param { num_output: 2 } }'
        'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }'
    )
    with PYTHON_LAYERS.allowing({"doubling_here": ""}):
        net = Net("net.prototxt", phase="TRAIN")
        with pytest.raises(DistributedError, match=r"'doubling_here' can't be imported: .*; or add --ship"):
            net.train(PAIR, 4, workers=2, backend=ElsewhereBackend())
        Path("files").unlink()
        net.train(PAIR, 4, workers=2, backend=ElsewhereBackend(), ship=True)
    files = set(map(Path, Path("files").read_text().splitlines()))
    assert len(files - {tmp_path / "doubling_here.py"}) == 2  # one for each worker
    assert not any(file.parent.exists() for file in files - {tmp_path / "doubling_here.py"})
