"""The settings under attack: a strategy with a launcher over a transport, and the user's commands for it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from caffe_proto.files import read_solver
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.settings import STRATEGIES, parse
from netdsl.distributed.transports.transport import Transport
from netdsl.distributed.worker_count import WorkerCount
from netdsl.mpi.backend import MpiBackend
from netdsl.mpi.installation import mpiexec
from netdsl.solver.settings import open_settings
from netdsl.spark.backend import SparkBackend
from netdsl.training import job
from netdsl.training.backends import Backend, LocalBackend

ZOO = Path(sys.executable).with_name("zoo")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--redirects", "3"]
MASTER = "local-cluster[2,1,2048]"
TWO, ELASTIC, ONE, THREE = "2", "1:2", "1", "3"  # workers
RUN, RANK_LOGS = "run", "torchrun"  # folders in a case's folder
MOVED, COPY = "moved", "copy"  # folders to which the run's folder is moved or copied during a training

STRATEGY_TEXTS = (
    "averaging:tau=4",
    "averaging:tau=4,warmup=6",
    "averaging:seconds=0.1",
    "allreduce:tau=4",
    "outer:tau=4",
    "elastic:tau=4",
    "elastic-sync:tau=4",
    "mpca:tau=8,early=4,ramp=4",
)

NET = """
name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  data_param { source: "digits:train" batch_size: 16 shuffle: true } transform_param { scale: 0.00390625 } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
  data_param { source: "digits:test" batch_size: 60 } transform_param { scale: 0.00390625 } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ip1" type: "InnerProduct" bottom: "pool" top: "ip1"
  inner_product_param { num_output: 32 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "drop" type: "Dropout" bottom: "ip1" top: "ip1" dropout_param { dropout_ratio: 0.2 } }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy" include { phase: TEST } }
"""
SOLVER = """
net: "net.prototxt" base_lr: 0.05 lr_policy: "poly" power: 1 momentum: 0.9 random_seed: 3
display: 20 test_iter: 4 test_interval: 40 snapshot: 12 snapshot_prefix: "small"
"""


class LauncherName(Enum):
    """The program that starts the workers. `ALONE` is training in one process with snapshots; `MPIEXEC` is the user's
    own."""

    ALONE = "alone"
    LOCAL = "local"
    EXTERNAL = "external"
    MPI = "mpi"
    MPIEXEC = "mpiexec"
    SPARK = "spark"


@dataclass(frozen=True)
class TrainingSetting:
    """How a small net is trained. Only `ALONE` has no strategy, and chooses the format of snapshots."""

    launcher: LauncherName
    strategy: str = ""
    transport: Transport | None = None
    hdf5: bool = False
    restarts: int = 0  # by torchrun
    iterations: int = 120
    workers: str = TWO  # as the command names them; a range means an elastic run
    resumed: str = ""  # the workers of commands that resume, if they differ

    def __str__(self) -> str:
        if self.launcher is LauncherName.ALONE:
            return f"alone, {'HDF5' if self.hdf5 else 'binary'} snapshots"
        over = f" over {self.transport.value}" if self.transport else ""
        again = f", {self.restarts} restarts of torchrun" if self.restarts else ""
        others = f", then {self.resumed}" if self.resumed else ""
        count = f", {self.workers} workers{others}" if self.workers != TWO or others else ""
        return f"{self.launcher.value} {self.strategy}{over}{again}{count}"

    @property
    def has_journal(self) -> bool:
        """Whether a run's folder contains a journal. If not, the states are snapshots."""
        return self.launcher is not LauncherName.ALONE

    @property
    def is_started(self) -> bool:
        """Whether torchrun or mpiexec is the command, which prints messages of its own."""
        return self.launcher in (LauncherName.EXTERNAL, LauncherName.MPIEXEC)

    @property
    def restarts_workers(self) -> bool:
        """Whether the launcher restarts a lost worker without the user."""
        return self.launcher in (LauncherName.LOCAL, LauncherName.MPI, LauncherName.SPARK)

    @property
    def same_bits(self) -> bool:
        """Whether the final bits are promised, whatever happens."""
        if not self.has_journal:
            return True
        if self.workers != TWO or self.resumed:  # the bits depend on when workers join and leave
            return False
        name, _, rest = self.strategy.partition(":")
        return bool(STRATEGIES[name].synchronous) and "seconds" not in rest

    @property
    def suffix(self) -> str:
        """The suffix of snapshot files."""
        return ".h5" if self.hdf5 else ""

    def write_files(self, folder: Path) -> None:
        """Write the net and the solver's settings into a folder."""
        folder.mkdir(parents=True)
        (folder / "net.prototxt").write_text(NET)
        form = "HDF5" if self.hdf5 else "BINARYPROTO"
        settings = f"{SOLVER}max_iter: {self.iterations} snapshot_format: {form}\n"
        (folder / "solver.prototxt").write_text(settings)

    def run(self, folder: Path) -> Run:
        """Return the run that the command makes from a folder's files."""
        solver = open_settings(read_solver(folder / "solver.prototxt").message, folder)
        prefix = str(folder / solver.param.snapshot_prefix)
        run = Run(solver.with_fields(snapshot_prefix=prefix), folder=folder)
        if not self.has_journal:
            return run
        most, fewest = WorkerCount.parse(self.workers)
        return replace(run, strategy=parse(self.strategy), workers=most, fewest=fewest, transport=self.transport)

    def begin(self, folder: Path, deadline: float) -> None:
        """Begin the run as the command does, but with another heartbeat deadline."""
        backends: dict[LauncherName, Backend] = {
            LauncherName.SPARK: SparkBackend(MASTER),
            LauncherName.MPI: MpiBackend(),
            LauncherName.MPIEXEC: MpiBackend(),
        }
        backend = backends.get(self.launcher, LocalBackend())
        job.begin(replace(self.run(folder), deadline=deadline), folder / RUN, backend)

    def command(self, folder: Path) -> list[str]:
        """Return what a user types in a case's folder to begin a run, or to resume one."""
        begun = (folder / RUN / "run.json").exists()
        words = [str(ZOO), "train"]
        if not self.has_journal:
            return [*words, "--solver", "solver.prototxt", "--snapshot", "auto"]
        if begun:
            words += ["--resume", RUN, *(["--workers", self.resumed] if self.resumed else [])]
        else:
            words += ["--solver", "solver.prototxt", "--strategy", self.strategy, "--run", RUN]
            words += [] if self.is_started else ["--workers", self.workers]
        if self.transport:
            words += ["--transport", self.transport.value]
        match self.launcher:
            case LauncherName.EXTERNAL:
                torchrun = [
                    *TORCHRUN,
                    "--log-dir",
                    RANK_LOGS,
                    "--max-restarts",
                    str(self.restarts),
                    "--no-python",
                    "--",
                ]
                return [*torchrun, *words, "--backend", "external"]
            case LauncherName.MPI:
                return [*words, "--backend", "mpi"]
            case LauncherName.MPIEXEC:
                return [mpiexec(), "-n", TWO, *words, "--backend", "mpi"]
            case LauncherName.SPARK:
                return [*words, "--backend", "spark", "--master", MASTER]
        return words

    def model(self, folder: Path) -> Path:
        """Return the final model."""
        if self.has_journal:
            return folder / RUN / "model.caffemodel"
        return folder / f"small_iter_{self.iterations}.caffemodel{self.suffix}"

    def progress(self, folder: Path) -> int:
        """Return the progress of a run: the number of the newest round, or the iteration of the newest snapshot."""
        if self.has_journal:
            names = [path.parent.name for path in folder.glob(f"{RUN}/rounds/round-*/whole.json")]
            return max((int(name.removeprefix("round-")) for name in names), default=0)
        names = [path.name.partition(".")[0] for path in folder.glob(f"small_iter_*.solverstate{self.suffix}")]
        return max((int(name.removeprefix("small_iter_")) for name in names), default=0)
