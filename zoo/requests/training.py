"""Requests about trainings: how they went, and with several workers, of scripts too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from netdsl.distributed.launchers import LAUNCHERS
from netdsl.distributed.transports import CONNECTIONS
from netdsl.distributed.transports.transport import Transport
from netdsl.distributed.worker_count import WorkerCount
from netdsl.ranks import ranks_apart, started_by_mpiexec
from netdsl.training.backends import LOCAL, NAMES, SPARK
from zoo.requests.groups import DATA_HELP, SKIP_BAD_HELP, AboutNet, ComputeType, OfSolver, WithPython
from zoo.requests.request import NotesCommand, Request, RequestError, argument, option, request

# What torch has the names of, for which nobody should wait to read the help.
STRATEGIES = ("averaging", "allreduce", "outer", "elastic", "elastic-sync", "mpca")
ActionName = Literal["none", "stop", "snapshot"]


@request
class ReportRequest(WithPython):
    """Report how a run went, or goes: RUN is its folder. A table says what the workers spent their time on, in seconds
    and shares: waiting and exchanging are counted where they delayed a worker, while broadcast, reduce, prepare and
    push ran beside computing. A page, RUN/report.html, has everything else: the curves, what the model confuses and its
    surest mistakes, the net as a graph, its first filters and slowest layers, and what each worker did in the last
    rounds. It is one file that any browser shows, without a network.

    Several runs are compared: a page, comparison.html, has their results, the settings in which they differ, and their
    curves over each other.
    """

    runs: tuple[str, ...] = argument("RUN...")
    output: str | None = option(
        "Where the page goes, a file ending in .html or a folder.", default=None, short="o", metavar="FILE"
    )
    items: int = option(
        "Items of the test data that are predicted; 0 runs nothing of the net.", default=2000, least=0, metavar="N"
    )


@request
class RunRequest(Request):
    """Run SCRIPT, a Python program for one process, with several workers that train together.

    The script needs no change. Each worker has its part of every batch that a DataLoader or a pycaffe net reads, and
    what the script sees is the same as in one process: batches, losses, gradients and weights. ARGUMENTS are the
    script's own.
    """

    script: Path = argument("SCRIPT", is_file=True)
    arguments: tuple[str, ...] = argument("[ARGUMENTS]...", default=(), unprocessed=True)
    workers: int | None = option("The number of processes that run it together.", default=None, least=1, metavar="K")
    backend: Literal["local", "mpi", "external"] | None = option(
        "What starts them: this command, mpiexec, or torchrun and the like; by default what has started this process.",
        default=None,
    )
    folder: str | None = option(
        "The folder for the workers' logs; needed with --backend external.",
        default=None, name="run", metavar="FOLDER",
    )  # fmt: skip
    all_output: bool = option("Let every worker print and write files, not only the first.", default=False)
    deadline: float = option(
        "How long a worker may be silent until it counts as lost.", default=30.0, least=1, metavar="SECONDS"
    )

    @property
    def started_by(self) -> str:
        """What starts the workers."""
        return self.backend or ("mpi" if started_by_mpiexec(os.environ) else "local")

    def check(self) -> None:
        """Refuse what doesn't go together with what starts the workers."""
        if self.started_by == "external" and self.folder is None:
            raise RequestError("--backend external needs --run FOLDER, on storage that all workers share.")
        if self.started_by != "local" and self.workers is not None:
            raise RequestError(f"With --backend {self.started_by} the number of workers is that of the processes.")
        if self.started_by == "mpi" and not started_by_mpiexec(os.environ):
            raise RequestError(f"With --backend mpi, start the workers yourself: mpiexec -n 4 zoo run {self.script}")


def replaced_layers(texts: Iterable[str]) -> dict[str, int | None]:
    """Layers, of texts such as fc8 or fc8:3, with their outputs if they are said."""
    layers: dict[str, int | None] = {}
    for text in texts:
        name, colon, number = text.rpartition(":")
        is_said = bool(colon) and number.isdecimal() and int(number) > 0
        layers[name if is_said else text] = int(number) if is_said else None
    return layers


def _training_backends() -> tuple[tuple[str, ...], Mapping[str, object]]:
    return NAMES, LAUNCHERS


def _transports() -> tuple[tuple[str, ...], Mapping[str, object]]:
    return tuple(transport.value for transport in Transport), CONNECTIONS


@request
class ByWorkers(AboutNet, NotesCommand):
    """A request about a training by one worker or by several."""

    backend: str | None = option(
        "What starts them: this command, Spark, mpiexec, or torchrun and the like; by default what has started this "
        "process.",
        default=None, names=_training_backends,
    )  # fmt: skip
    master: str | None = option(
        "Spark's master: spark://host:7077, yarn, ...; by default this machine.", default=None, metavar="URL"
    )
    device: str | None = option("cpu, cuda:0, several with commas, or all GPUs.", default=None, metavar="NAME")
    workers: WorkerCount | None = option(
        "The number of processes that train together; 2:8 is any from 2 to 8, while it lasts.",
        default=None, metavar="K", parse=WorkerCount.parse,
    )  # fmt: skip
    strategy: str | None = option(
        f"What they exchange, and when: {', '.join(STRATEGIES)}.", default=None, metavar="NAME:SETTINGS"
    )

    def check(self) -> None:
        """Refuse Spark's master for another backend."""
        super().check()
        if self.master is not None and self.backend != SPARK:
            raise RequestError("--master is about Spark; give --backend spark too.")


@request
class TrainRequest(OfSolver, ByWorkers):
    """Train a net with Caffe's solvers: a MODEL that comes with the zoo, or one of your own by its --solver. Tests,
    displays and snapshots are as the settings say. Without --test-data, tests are on the data's own part for tests, or
    on every tenth item, which training leaves out. On Ctrl-C or SIGTERM a snapshot is saved; the same command with
    `--snapshot auto` resumes the training, with the same bits as without the stop.

    With --workers, several processes train together, each on a part of the data; `averaging:tau=50` is SparkNet's model
    averaging every 50 iterations. Their run has a folder for its settings, rounds, log, snapshots and model, and so has
    that of one worker with --run; `zoo report` tells what is in it, and `--resume` resumes it, whatever ended it. With
    `--workers 2:8` the others go on when one is lost, and one that comes joins after a round. `--replay` repeats that.
    """

    data: str | None = option(DATA_HELP, default=None, metavar="SOURCE")
    test_data: str | None = option(
        "Data to test on, or 'none'; by default a part of the same.", default=None, metavar="SOURCE"
    )
    weights: tuple[str, ...] = option("Weights to begin with, by layer names.", default=(), metavar="FILE")
    snapshot: str | None = option(
        "A solver state to go on from; 'auto' is the newest whole one.", default=None, metavar="FILE"
    )
    gpus: str | None = option("GPUs by their numbers, or all, with a worker for each.", default=None, metavar="0,1")
    max_iter: int | None = option("Train to this iteration instead.", default=None, least=0, metavar="N")
    epochs: float | None = option(
        "Train until all items were seen so often instead, however many workers see them.",
        default=None, above=0, metavar="N",
    )  # fmt: skip
    precision: ComputeType | None = option("What products are computed with, exact by default.", default=None)
    compiled: bool = option("Let torch compile the nets first.", default=False, name="compile")
    caffe_gradients: bool = option(
        "Where layers in place change what Caffe reads backward, take its gradients.", default=False
    )
    no_cuda_graph: bool = option(
        "Let a GPU get each step's operations one by one, not as a recorded graph.", default=False
    )
    decoders: int | None = option("Threads that decode data.", default=None, least=1, metavar="N")
    allow_nonfinite: bool = option(
        "Go on and save where the loss or weights aren't finite, as Caffe does.", default=False
    )
    skip_bad: bool = option(SKIP_BAD_HELP, default=False)
    plan: Path | None = option(
        "A plan of `zoo plan`, which says all that and the batch, the passes of an iteration and the precision.",
        default=None, metavar="FILE", is_file=True,
    )  # fmt: skip
    folder: str | None = option(
        "The run's folder, with --workers MODEL_run.", default=None, name="run", metavar="FOLDER"
    )
    transport: str | None = option(
        "How models are exchanged; by default as suits the devices.", default=None, names=_transports
    )
    deadline: float | None = option(
        "How long a worker may be silent until it counts as lost.", default=None, least=1, metavar="SECONDS"
    )
    resume: str | None = option(
        "Resume the run in this folder, with --workers by other workers.", default=None, metavar="FOLDER"
    )
    replay: str | None = option(
        "Repeat the run in this folder, in which workers were lost or came.", default=None, metavar="FOLDER"
    )
    log: str | None = option(
        "Append one JSON object for each display, test and snapshot.", default=None, metavar="FILE"
    )
    tensorboard: str | None = option("Write TensorBoard's events to this folder.", default=None, metavar="FOLDER")
    mlflow: str | None = option(
        "Write a run to MLflow there; 'auto' is where MLFLOW_TRACKING_URI says.", default=None, metavar="URI"
    )
    plot: str | None = option("Draw the curves into a PNG at the end.", default=None, metavar="FILE")
    on_interrupt: ActionName = option("What Ctrl-C does.", default="stop")
    on_hangup: ActionName = option("What a closed terminal does.", default="snapshot")

    def check(self) -> None:
        """Refuse options that don't go together."""
        super().check()
        is_named = self.model or self.solver
        if self.resume is not None:
            if is_named or self.dialect or self.strategy or self.plan or self.folder or self.replay:
                raise RequestError("--resume goes on as the run was begun; give nothing else that says how.")
        elif self.replay is not None:
            if is_named or self.dialect or self.strategy or self.plan or self.workers:
                raise RequestError("--replay repeats a run; give only the folder of the new one, with --run.")
        else:
            self.check_model_or_solver()
            if self.plan is not None and (self.workers or self.strategy or self.precision):
                raise RequestError("--plan says how many workers train, by which strategy and in which precision.")
            if self.epochs is not None and self.max_iter is not None:
                raise RequestError("--epochs and --max-iter both say how long to train; give one of them.")
            if self.gpus is not None and self.device is not None:
                raise RequestError("--gpus and --device both name devices; give one of them.")
            if self.backend == LOCAL or (self.backend is None and ranks_apart(os.environ) is None):
                self.is_kept(None)

    def is_kept(self, started: int | None) -> bool:
        """Return whether the run is kept in a folder: one of several workers, or one that has to be compared or
        resumed. So many workers may be started already."""
        if self.gpus is not None and (self.strategy or self.transport or self.backend):
            return True
        if any(part is not None for part in (self.workers, self.folder, self.plan, started)):
            return True
        if self.strategy or self.transport or self.backend or self.deadline:
            raise RequestError(
                "--strategy, --transport, --backend and --deadline are for several workers; give --workers too."
            )
        return False


@request
class TuneRequest(ByWorkers):
    """Fine-tune a MODEL, by its name, folder or file, to tell the classes of your data apart. The layer that predicts
    is found and replaced for the classes; the others begin with the model's weights. A share of each class is held
    out, and tested on after each epoch; the best model of all tests is kept.

    The result is a folder: nets, weights and classes for Caffe, the ONNX form, a card with the measured accuracy, and
    the run. It can be named wherever a net is taken.
    """

    model: str | None = argument("[MODEL]", default=None)
    data: str | None = option(
        "A folder with a folder of images for each class, lmdb:PATH, parquet:PATH, ...", default=None, metavar="SOURCE"
    )
    test_data: str | None = option("Data to test on, instead of a share of the same.", default=None, metavar="SOURCE")
    held_out: float = option("The share of each class to test on.", default=0.1, least=0.01, most=0.9, metavar="SHARE")
    weights: tuple[str, ...] = option("The weights to begin with, if not the model's own.", default=(), metavar="FILE")
    replaced: Mapping[str, int | None] = option(
        "The layer to replace by one with N outputs; by default what predicts, and as many as there are classes.",
        default_factory=dict, name="replace", metavar="LAYER[:N]", parse=replaced_layers, repeatedly=True,
    )  # fmt: skip
    frozen: tuple[str, ...] = option(
        "Layers that stay as they are, as 'conv*'.", default=(), name="freeze", metavar="PATTERN"
    )
    epochs: float | None = option(
        "How often to see all items, however many workers see them; 20 by default.",
        default=None, above=0, metavar="N",
    )  # fmt: skip
    batch: int | None = option(
        "Items of a step: each worker's own or, with allreduce, those of all workers together.",
        default=None, least=1, metavar="N",
    )  # fmt: skip
    base_lr: float | None = option("The rate to begin with.", default=None, above=0, metavar="R")
    seed: int = option("Of all chance.", default=1, least=0, metavar="N")
    patience: int = option("End after this many tests without progress.", default=5, least=1, metavar="N")
    output: str | None = option(
        "The new model's folder; by default MODEL_tuned.", default=None, short="o", metavar="FOLDER"
    )
    resume: str | None = option(
        "Go on with the fine-tuning in this folder, whatever ended it.", default=None, metavar="FOLDER"
    )

    def check(self) -> None:
        """Refuse to begin and to go on at once."""
        super().check()
        if self.resume is None and not (self.model and self.data):
            raise RequestError("Give a MODEL and --data, or --resume FOLDER.")
        if self.resume is not None and (self.model or self.data):
            raise RequestError("--resume goes on as it was begun; give nothing else that says how.")
