"""Requests to train nets and to report on trainings, including scripts that run with several workers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

from caffe_proto.addresses import address_in
from caffe_proto.whole_numbers import whole_number
from netdsl.distributed.control.place import Ports
from netdsl.distributed.launchers import LAUNCHERS
from netdsl.distributed.shipped_code import shipping
from netdsl.distributed.worker_count import WorkerCount
from netdsl.ranks import ranks_apart, started_by_mpiexec
from netdsl.training.backends import EXTERNAL, LOCAL, MPI, NAMES, SPARK
from zoo.requests.groups import (
    DATA_HELP,
    ONE_SPARK,
    SKIP_BAD_HELP,
    AboutNet,
    ComputeType,
    OfSolver,
    WithPython,
    transport_names,
)
from zoo.requests.request import NotesCommand, Request, RequestError, argument, option, request

# Only for type checking, since importing torch would slow down --help.
STRATEGIES = ("averaging", "allreduce", "outer", "elastic", "elastic-sync", "mpca")
ActionName = Literal["none", "stop", "snapshot"]
NEEDS_MACHINES = (
    "--address and --port are for workers on several machines; add --backend external, --backend mpi or --remote. For "
    "another Spark, set spark.driver.host and spark.netdsl.port."
)


@request
class ReportRequest(WithPython):
    """Report on a run: RUN is its folder or address, and the run may still be in progress.

    A table shows how the workers spent their time, in seconds and shares. Waiting and exchanging are counted where they
    delayed a worker; broadcast, reduce, prepare and push ran in parallel with computing. The page RUN/report.html shows
    everything else: the curves, the model's most frequent confusions and its most confident mistakes, the net as a
    graph, its first filters and slowest layers, and the work of each worker in the last rounds. The page is a single
    file that any browser shows without a network.

    Several runs are compared. The page comparison.html shows their results, the settings in which they differ, and
    their curves in one chart.
    """

    runs: tuple[str, ...] = argument("RUN...", address="recorded run")
    output: str | None = option(
        "Destination of the page, a file ending in .html or a folder.",
        default=None,
        short="o",
        metavar="FILE",
        address="write",
    )
    items: int = option(
        "Number of test items to predict; 0 doesn't run the net at all.", default=2000, least=0, metavar="N"
    )

    @contextmanager
    def with_local_files(self) -> Iterator[Self]:
        """Provide the request with paths in place of addresses. By default, the page of a run at an address is
        published there."""
        own = self
        if self.output is None and len(self.runs) == 1 and address_in(self.runs[0]):
            own = replace(self, output=f"{self.runs[0].rstrip('/')}/report.html")
        with super(ReportRequest, own).with_local_files() as local:
            yield local


@request
class RunRequest(Request):
    """Run SCRIPT, a Python program for one process, with several workers that train together.

    The script needs no change. Each worker gets its part of every batch that a DataLoader or a pycaffe net reads. The
    script sees the same batches, losses, gradients and weights as in one process. ARGUMENTS are passed to the script.
    """

    script: Path = argument("SCRIPT", is_file=True)
    arguments: tuple[str, ...] = argument("[ARGUMENTS]...", default=(), unprocessed=True, address="other")
    workers: int | None = option(
        "Number of processes that run the script together.", default=None, least=1, metavar="K"
    )
    backend: Literal["local", "mpi", "external"] | None = option(
        "Launcher of the workers: this command, mpiexec, or a program such as torchrun; by default the one that "
        "started this process.",
        default=None,
    )
    folder: str | None = option(
        "Folder for the workers' logs; needed with --backend external.",
        default=None, name="run", metavar="FOLDER",
    )  # fmt: skip
    address: str | None = option(
        "Address or name of the first worker's machine that the other machines reach; by default all are tried.",
        default=None, metavar="HOST",
    )  # fmt: skip
    ports: Ports | None = option(
        "Port, or range such as 5000-5010, at which the first worker listens for other machines.",
        default=None, name="port", metavar="PORT", parse=Ports.parse,
    )  # fmt: skip
    all_output: bool = option("Let all workers print and write files, instead of only the first.", default=False)
    deadline: float = option(
        "Time for which a worker may be silent before it counts as lost.", default=30.0, least=1, metavar="SECONDS"
    )

    @property
    def started_by(self) -> str:
        """The launcher of the workers."""
        return self.backend or ("mpi" if started_by_mpiexec(os.environ) else "local")

    def check(self) -> None:
        """Refuse options that contradict the launcher of the workers."""
        if self.started_by == "external" and self.folder is None:
            raise RequestError(
                "--backend external needs a run folder; add --run FOLDER, on storage that all workers share."
            )
        if self.started_by == "local" and (self.address or self.ports):
            raise RequestError(NEEDS_MACHINES)
        if self.started_by != "local" and self.workers is not None:
            raise RequestError(
                f"With --backend {self.started_by}, the launcher sets the number of workers; remove --workers."
            )
        if self.started_by == "mpi" and not started_by_mpiexec(os.environ):
            raise RequestError(f"With --backend mpi, start the workers yourself: mpiexec -n 4 zoo run {self.script}")


def replaced_layers(texts: Iterable[str]) -> dict[str, int | None]:
    """Return layers by name from texts such as fc8 or fc8:3, each with its number of outputs, or `None` if that isn't
    given."""
    layers: dict[str, int | None] = {}
    for text in texts:
        name, _, outputs = text.rpartition(":")
        number = whole_number(outputs, 1) if name else None
        layers[text if number is None else name] = number
    return layers


def _training_backends() -> tuple[tuple[str, ...], Mapping[str, object]]:
    return NAMES, LAUNCHERS


@request
class ByWorkers(AboutNet, NotesCommand):
    """A request about a training on one worker or several."""

    backend: str | None = option(

            "Launcher of the workers: this command, Spark, mpiexec, or a program such as torchrun; by default the "
            "one that started this process.",
        default=None, names=_training_backends,
    )  # fmt: skip
    master: str | None = option(
        "Spark master: spark://host:7077, yarn, ...; by default this machine.",
        default=None,
        metavar="URL",
        address="other",
    )
    remote: str | None = option(
        "Server of Spark Connect: sc://host:15002; by default the one in SPARK_REMOTE, if it is set.",
        default=None,
        metavar="URL",
        address="other",
    )
    address: str | None = option(
        "Address or name of the first worker's machine that the other machines reach; by default all are tried.",
        default=None, metavar="HOST",
    )  # fmt: skip
    ports: Ports | None = option(
        "Port, or range such as 5000-5010, at which the first worker listens for other machines.",
        default=None, name="port", metavar="PORT", parse=Ports.parse,
    )  # fmt: skip
    device: str | None = option("Device: cpu, cuda:0, several with commas, or all GPUs.", default=None, metavar="NAME")
    workers: WorkerCount | None = option(
        "Number of processes that train together; 2:8 allows any number from 2 to 8, which may change during the run.",
        default=None, metavar="K", parse=WorkerCount.parse,
    )  # fmt: skip
    strategy: str | None = option(
        f"Strategy: what the workers exchange, and when: {', '.join(STRATEGIES)}.",
        default=None,
        metavar="NAME:SETTINGS",
    )
    ship: bool = option(
        "Send the modules of --allow-python and --plugin that aren't installed to the workers.", default=False
    )

    @contextmanager
    def meanwhile(self) -> Iterator[None]:
        """Allow the code of the named modules to run, also in workers that don't have it."""
        with super().meanwhile(), shipping(self.ship):
            yield

    @property
    def meets_other_machines(self) -> bool:
        """Whether the workers can be on other machines than the first one, and meet at an address of its machine."""
        if self.backend is None:
            return ranks_apart(os.environ) is not None
        return self.backend in (EXTERNAL, MPI) or (self.backend == SPARK and self.remote is not None)

    def check(self) -> None:
        """Refuse a Spark master for another backend, and an address for workers of one machine."""
        super().check()
        if (self.address or self.ports) and not self.meets_other_machines:
            raise RequestError(NEEDS_MACHINES)
        if (self.master or self.remote) is not None and self.backend != SPARK:
            raise RequestError("--master and --remote need --backend spark; add --backend spark.")
        if self.master is not None and self.remote is not None:
            raise RequestError(ONE_SPARK)


@request
class TrainRequest(OfSolver, ByWorkers):
    """Train a net with Caffe's solvers: a zoo MODEL, or your own net with --solver. The solver's settings determine
    tests, displays and snapshots.

    Without --test-data, the tests use the data set's own test part, or every tenth item, which is then left out of
    training. On Ctrl-C or SIGTERM, the command saves a snapshot. The same command with `--snapshot auto` resumes the
    training, and the result is bit for bit the same as without the interruption.

    With --workers, several processes train together, each on a part of the data; `averaging:tau=50` is SparkNet's model
    averaging every 50 iterations. The run gets a folder for its settings, rounds, log, snapshots and model, and so does
    a run of one worker with --run. `zoo report` shows its contents, and `--resume` resumes it, whatever ended it. With
    `--workers 2:8` the run continues when a worker is lost, and new workers can join after any round. `--replay`
    repeats these changes.
    """

    data: str | None = option(DATA_HELP, default=None, metavar="SOURCE", address="read")
    test_data: str | None = option(
        "Data to test on, or 'none'; by default a part of the training data.",
        default=None,
        metavar="SOURCE",
        address="read",
    )
    weights: tuple[str, ...] = option(
        "Weights to begin with, matched by layer name.", default=(), metavar="FILE", address="read"
    )
    snapshot: str | None = option(
        "Solver state to resume from, or its address; 'auto' is the newest complete one.",
        default=None,
        metavar="FILE",
        address="training",
    )
    gpus: str | None = option("GPUs by number, or all, with one worker for each.", default=None, metavar="0,1")
    max_iter: int | None = option(
        "Iteration at which to stop, instead of the solver's.", default=None, least=0, metavar="N"
    )
    epochs: float | None = option(
        "Number of passes over the data before stopping, regardless of the number of workers.",
        default=None, above=0, metavar="N",
    )  # fmt: skip
    precision: ComputeType | None = option("Precision of matrix products, exact by default.", default=None)
    compiled: bool = option("Compile the nets with torch first.", default=False, name="compile")
    caffe_gradients: bool = option(
        "Use Caffe's gradients where in-place layers change the values that Caffe reads in the backward pass.",
        default=False,
    )
    no_cuda_graph: bool = option(
        "Launch a step's GPU operations one by one instead of as a recorded CUDA graph.", default=False
    )
    decoders: int | None = option("Number of threads that decode data.", default=None, least=1, metavar="N")
    allow_nonfinite: bool = option(
        "Continue and save when the loss or weights aren't finite, as Caffe does.", default=False
    )
    skip_bad: bool = option(SKIP_BAD_HELP, default=False)
    plan: Path | None = option(

            "Plan of `zoo plan`, which sets the workers, the strategy, the batch, the passes of an iteration and "
            "the precision.",
        default=None, metavar="FILE", is_file=True,
    )  # fmt: skip
    folder: str | None = option(
        "Folder or address of the run; MODEL_run by default with --workers.",
        default=None,
        name="run",
        metavar="FOLDER",
        address="run",
    )
    transport: str | None = option(
        "Method of exchanging models; by default chosen for the devices.", default=None, names=transport_names
    )
    deadline: float | None = option(
        "Time for which a worker may be silent before it counts as lost.", default=None, least=1, metavar="SECONDS"
    )
    resume: str | None = option(
        "Folder or address of the run to resume; --workers may change the number of workers.",
        default=None,
        metavar="FOLDER",
        address="run",
    )
    replay: str | None = option(
        "Folder or address of a run to repeat, including the workers that were lost or joined.",
        default=None,
        metavar="FOLDER",
        address="recorded run",
    )
    log: str | None = option(
        "File or address to which a JSON object is appended for each display, test and snapshot.",
        default=None,
        metavar="FILE",
        address="training",
    )
    tensorboard: str | None = option("Folder for TensorBoard events.", default=None, metavar="FOLDER")
    mlflow: str | None = option(
        "MLflow tracking URI to log the run to; 'auto' uses MLFLOW_TRACKING_URI.",
        default=None,
        metavar="URI",
        address="other",
    )
    plot: str | None = option("PNG file for the curves, drawn at the end.", default=None, metavar="FILE")
    on_interrupt: ActionName = option("Action on Ctrl-C.", default="stop")
    on_hangup: ActionName = option("Action when the terminal closes.", default="snapshot")

    def check(self) -> None:
        """Refuse options that contradict each other."""
        super().check()
        is_named = self.model or self.solver
        if self.resume is not None:
            if is_named or self.dialect or self.strategy or self.plan or self.folder or self.replay:
                raise RequestError(
                    "--resume continues a run with its own settings; remove the other options that set how to train."
                )
        elif self.replay is not None:
            if is_named or self.dialect or self.strategy or self.plan or self.workers:
                raise RequestError(
                    "--replay repeats a run with its own settings; give no other option than --run, the new "
                    "run's folder."
                )
        else:
            self.check_model_or_solver()
            if self.plan is not None and (self.workers or self.strategy or self.precision):
                raise RequestError(
                    "--plan sets the number of workers, the strategy and the precision; remove --workers, "
                    "--strategy and --precision."
                )
            if self.epochs is not None and self.max_iter is not None:
                raise RequestError(
                    "--epochs and --max-iter both set the length of the training; remove --epochs, or remove "
                    "--max-iter."
                )
            if self.gpus is not None and self.device is not None:
                raise RequestError("--gpus and --device both name devices; remove --gpus, or remove --device.")
            if self.backend == LOCAL or (self.backend is None and ranks_apart(os.environ) is None):
                self.is_kept(None)

    def is_kept(self, started: int | None) -> bool:
        """Return whether the run gets a folder. Runs of several workers do, and runs that must be comparable or
        resumable. `started` is the number of workers that already run, if a launcher started them."""
        if self.gpus is not None and (self.strategy or self.transport or self.backend):
            return True
        if any(part is not None for part in (self.workers, self.folder, self.plan, started)):
            return True
        if self.ship or self.strategy or self.transport or self.backend or self.deadline:
            raise RequestError(
                "--ship, --strategy, --transport, --backend and --deadline are for several workers; give --workers too."
            )
        return False


@request
class TuneRequest(ByWorkers):
    """Fine-tune a MODEL, given by name, folder or file, to classify your data. The command finds the layer that
    predicts and replaces it with one for your classes. The other layers start with the model's weights. A share of each
    class is held out and tested after each epoch. The model with the best test result is kept.

    The result is a folder with nets, weights and classes for Caffe, the ONNX form, a card with the measured accuracy,
    and the run. The folder's name can stand for a net in any command.
    """

    model: str | None = argument("[MODEL]", default=None, address="read")
    data: str | None = option(
        "Data to train on: a folder with a folder of images for each class, lmdb:PATH, parquet:PATH, ...",
        default=None,
        metavar="SOURCE",
        address="read",
    )
    test_data: str | None = option(
        "Data to test on, instead of a share of the training data.",
        default=None,
        metavar="SOURCE",
        address="read",
    )
    held_out: float = option("Share of each class to test on.", default=0.1, least=0.01, most=0.9, metavar="SHARE")
    folds: int | None = option(
        "Number of folds of a cross-validation, which tests every item of the data once.",
        default=None, least=2, metavar="K",
    )  # fmt: skip
    weights: tuple[str, ...] = option(
        "Weights to begin with, instead of the model's own.", default=(), metavar="FILE", address="read"
    )
    replaced: Mapping[str, int | None] = option(
        "Layer to replace with one of N outputs; by default the layer that predicts, with an output for each class.",
        default_factory=dict, name="replace", metavar="LAYER[:N]", parse=replaced_layers, repeatedly=True,
    )  # fmt: skip
    frozen: tuple[str, ...] = option(
        "Layers to leave unchanged, such as 'conv*'.", default=(), name="freeze", metavar="PATTERN"
    )
    epochs: float | None = option(
        "Number of passes over the data, regardless of the number of workers; 20 by default.",
        default=None, above=0, metavar="N",
    )  # fmt: skip
    batch: int | None = option(
        "Number of items in a step: each worker's own or, with allreduce, that of all workers together.",
        default=None, least=1, metavar="N",
    )  # fmt: skip
    base_lr: float | None = option("Learning rate to begin with.", default=None, above=0, metavar="R")
    seed: int = option("Seed of all random numbers.", default=1, least=0, metavar="N")
    patience: int = option("Number of tests without progress after which to stop.", default=5, least=1, metavar="N")
    output: str | None = option(
        "Folder of the new model; by default MODEL_tuned.", default=None, short="o", metavar="FOLDER"
    )
    resume: str | None = option(
        "Folder of the fine-tuning to continue, whatever ended it.", default=None, metavar="FOLDER"
    )

    def check(self) -> None:
        """Refuse to start a fine-tuning and resume one at the same time."""
        super().check()
        if self.resume is None and not (self.model and self.data):
            raise RequestError("Give a MODEL and --data, or --resume FOLDER.")
        if self.resume is not None and (self.model or self.data):
            raise RequestError("--resume continues with the settings of the fine-tuning; remove MODEL and --data.")
        if self.resume is not None and self.folds is not None:
            raise RequestError("--resume continues with the folds of the fine-tuning; remove --folds.")
        check_folds(self.folds, self.test_data)


def check_folds(folds: int | None, test_data: str | None) -> None:
    """Refuse a cross-validation with less than two folds, or with other test data."""
    if folds is None:
        return
    if folds < 2:
        raise RequestError(f"--folds is {folds}; set it to 2 or more.", "folds")
    if test_data is not None:
        raise RequestError(
            "--folds tests on every item of --data, so other test data aren't used; remove --test-data, or remove "
            "--folds to test on it."
        )
