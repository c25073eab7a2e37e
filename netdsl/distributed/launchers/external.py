"""The external launcher, for workers that torchrun, SLURM or Kubernetes starts, one process for each worker.

Each worker reads its rank from the environment. The first worker also supervises, and publishes in the run's folder
where the others reach it, or why it failed.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Event, Thread
from typing import ClassVar, TypeVar

import msgspec

from caffe_proto.errors import CaffeError
from caffe_proto.storage import PRIVATE, atomic_path, create_folder
from netdsl.distributed.control.heartbeat import START
from netdsl.distributed.control.place import NetworkPlace, Ports
from netdsl.distributed.control.reach import PROBE
from netdsl.distributed.launcher import Workers, WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.run_lease import LeaseWatcher, held_lease
from netdsl.distributed.run_worker import run_worker
from netdsl.distributed.supervisor import End
from netdsl.errors import DistributedError, PeerLostError
from netdsl.ranks import Ranks, ranks_in

Result = TypeVar("Result")

_FILE = "control.json"  # in the run's folder; contains a secret, so only the user may read it
_FILE_OF_OTHER = "control-{}.json"  # with the reason for which another worker can't take part
_JOB = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID", "MASTER_PORT")  # the same for all workers of a job
_NAP = 0.1  # seconds between two looks at the first worker's file
_GRACE = 10.0  # seconds for the first worker's own part to end
_START_TIME = 19  # the field of /proc/self/stat behind the name, in ticks since the machine was started
_BEAT = 1.0  # seconds between two signs that the first worker is alive
_REACH = 30.0  # seconds for which a worker tries to reach a first worker that is alive
_LEFTOVER = 30.0  # seconds for a first worker to remove what an earlier start of the same job has left
UNREACHABLE = (
    "name an address of that worker's machine that this one reaches with --address, and a port that no firewall closes "
    "with --port"
)


class Published(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker publishes for the others: the spec with the supervisor's address, or the reason of its failure."""

    host: str
    job: str
    spec: WorkerSpec | None = None
    reason: str = ""

    def write(self, file: Path) -> None:
        """Write it to a file that only this user may read."""
        with atomic_path(file, mode=0o600) as temporary:
            temporary.write_bytes(msgspec.json.encode(self))


def worker_in(environment: Mapping[str, str]) -> Ranks:
    """Return the ranks of this process among the workers, as the environment describes them."""
    ranks = ranks_in(environment)
    if ranks is None:
        raise DistributedError(
            "RANK and WORLD_SIZE aren't set, so this process can't tell which worker it is; start the "
            "workers with a launcher that sets them, as in `torchrun --nproc-per-node 2`"
        )
    return ranks


def place_for(worker: Ranks, address: str | None = None, ports: Ports | None = None) -> NetworkPlace | None:
    """Return the place where workers reach the first one, or `None` if all are on one machine and none is named."""
    if not worker.on_several_machines and address is None and ports is None:
        return None
    return NetworkPlace.found(os.environ, address, ports)


class ExternalLauncher(Workers):
    """Finds workers instead of starting them. It publishes the spec that they wait for."""

    name: ClassVar[str] = "external"
    restarts: ClassVar[bool] = False
    regroups: ClassVar[bool] = True
    mpi: ClassVar[bool] = False  # whether the workers are ranks of mpiexec

    def __init__(self, worker: Ranks, place: NetworkPlace | None = None) -> None:
        self._worker, self.place = worker, place
        self.published: Future[WorkerSpec] = Future()
        self.finished = Event()  # set when the first worker's own part has ended
        self.ended = dict[int, str]()  # how workers ended that may not be connected, by rank

    def prepare(self, folder: Path, run: Run, note: Callable[[str], object]) -> Run:
        """Return the run with a transport that suits the workers' devices and machines."""
        size = self._worker.size
        if run.fitting(size) != size:
            raise DistributedError(
                f"{folder}: the run has {run.workers} workers, but {size} were started; to continue with {size} "
                f"workers, add --workers {size}"
            )
        return run.with_transport(self._worker.local_size, mpi=self.mpi)

    def room(self, run: Run) -> int:
        """Return the number of workers that were started."""
        return self._worker.size

    def start(self, spec: WorkerSpec) -> ExternalLauncher:
        """Publish the supervisor's address to the workers."""
        self._folder, self._looked = Path(spec.run), time.monotonic()
        for leftover in self._folder.glob(_FILE_OF_OTHER.format("*")):
            leftover.unlink(missing_ok=True)
        Published(socket.gethostname(), _job(), spec).write(self._folder / _FILE)
        Thread(target=self._show_life, name="published spec", daemon=True).start()
        self.published.set_result(spec)
        return self

    def endings(self) -> Mapping[int, str]:
        """Return how workers ended that can't connect, by rank."""
        if time.monotonic() - self._looked > _BEAT:
            self._looked = time.monotonic()
            for rank in range(1, self._worker.size):
                with suppress(OSError, msgspec.MsgspecError):
                    other = _read(self._folder / _FILE_OF_OTHER.format(rank))[0]
                    self.ended[rank] = f"on {other.host} ended: {other.reason}"
        return self.ended

    def close(self) -> None:
        """Let the first worker's own part end, since it still needs its supervisor."""
        (self._folder / _FILE).unlink(missing_ok=True)
        self.await_end()

    def await_end(self) -> None:
        """Wait for the first worker's own part to end, but only for a limited time."""
        self.finished.wait(_GRACE)

    def _show_life(self) -> None:
        """Change the file's time regularly, so that others know that this process is alive."""
        while not self.finished.wait(_BEAT):
            with suppress(OSError):
                os.utime(self._folder / _FILE)


def train_as_worker(
    folder: Path, supervise: Callable[[ExternalLauncher], End], address: str | None = None, ports: Ports | None = None
) -> End | None:
    """Do this process's part of a run. In the first worker, `supervise` watches all workers from a thread."""
    return take_part(folder, supervise, run_worker, address, ports)


def take_part(
    folder: Path,
    supervise: Callable[[ExternalLauncher], Result],
    work: Callable[[WorkerSpec], object],
    address: str | None = None,
    ports: Ports | None = None,
) -> Result | None:
    """Do this process's part of the work that begins in a folder. The first worker supervises as well.

    On several machines, it does so at an address and a port that the user may name.
    """
    worker = worker_in(os.environ)
    if worker.rank:
        spec = _await_spec(folder, worker.rank)
        work(msgspec.structs.replace(spec, rank=worker.rank, local_rank=worker.local_rank))
        return None
    with publishing_failure(folder):
        return lead(ExternalLauncher(worker, place_for(worker, address, ports)), supervise, work)


@contextmanager
def publishing_failure(folder: Path) -> Iterator[None]:
    """Publish the reason in the folder if the context fails, so that the other workers end too. Removes the reason of
    an earlier failure.

    If another process holds the run now, what it has published stays.
    """
    file = folder / _FILE
    with suppress(OSError):
        if _is_replaceable(file):
            file.unlink(missing_ok=True)
    try:
        yield
    except BaseException as problem:
        with suppress(OSError, CaffeError):
            create_folder(folder, PRIVATE)
            if _is_replaceable(file):
                Published(socket.gethostname(), _job(), reason=_reason_of(problem)).write(file)
        raise


def lead(
    launcher: ExternalLauncher, supervise: Callable[[ExternalLauncher], Result], work: Callable[[WorkerSpec], object]
) -> Result:
    """Do the first worker's part, while a thread supervises all workers."""
    with ThreadPoolExecutor(1) as pool:
        supervision = pool.submit(supervise, launcher)
        supervision.add_done_callback(lambda _: launcher.published.cancel())
        with suppress(PeerLostError, CancelledError):  # the supervisor reports the cause
            try:
                work(launcher.published.result())
            except Exception as problem:
                launcher.ended[0] = f"ended: {_reason_of(problem)}"
                raise
            finally:
                launcher.finished.set()
        return supervision.result()


def _await_spec(folder: Path, rank: int) -> WorkerSpec:
    """Return the spec that the first worker publishes, with the address at which this worker reaches it.

    Raises a `DistributedError` if the first worker has failed, or can't be reached although it is alive. What a killed
    one has left is ignored: its time doesn't change.
    """
    file, begun, leftover, unreachable_since = folder / _FILE, time.monotonic(), _state_of(folder / _FILE), 0.0
    lease = LeaseWatcher(folder)
    while (now := time.monotonic()) - begun < START:
        time.sleep(_NAP)
        if lost := lease.lost_holder():
            raise DistributedError(
                f"{folder}: the first worker, {lost}, ended without a reason before this worker reached it; read its "
                "output, and start all workers again"
            )
        try:
            published, state = _read(file)
        except (OSError, msgspec.MsgspecError):
            leftover = None
            continue
        is_alive = state != leftover
        if published.spec is None:
            is_recent = is_alive or now - begun > _LEFTOVER or _is_younger_than_process(file)
            if published.job == _job() and is_recent:
                raise DistributedError(
                    f"the first worker, on {published.host}, failed: {published.reason}; start all workers again when "
                    "that is mended"
                )
            continue
        try:
            return reached(published.spec)
        except OSError as problem:
            unreachable_since = (unreachable_since or now) if is_alive else 0.0
            if is_alive and time.monotonic() - unreachable_since > _REACH:
                here = socket.gethostname()
                reason = f"the first worker, on {published.host}, can't be reached from {here}: {problem}"
                with suppress(OSError):
                    Published(here, _job(), reason=reason).write(folder / _FILE_OF_OTHER.format(rank))
                raise DistributedError(f"{reason}; {UNREACHABLE}") from None
    raise DistributedError(
        f"{folder}: the first worker didn't start the run within {START:g} s; read its output for the reason, and "
        "check that this folder is the one that it uses, on storage that all machines share"
    )


def reached(spec: WorkerSpec) -> WorkerSpec:
    """Return a spec with the one address at which this process reaches the supervisor. Raises an `OSError` if there is
    none."""
    connection = spec.control.place.connect(PROBE)
    try:
        place = spec.control.place.over(connection)
    finally:
        connection.close()
    return msgspec.structs.replace(spec, control=msgspec.structs.replace(spec.control, place=place))


def _read(file: Path) -> tuple[Published, tuple[int, int]]:
    """Return what a worker has published, and the state of the file, which changes while the worker is alive."""
    with suppress(OSError):
        os.scandir(file.parent).close()  # lets a file server's client look for new files
    with file.open("rb") as opened:
        status = os.fstat(opened.fileno())
        return msgspec.json.decode(opened.read(), type=Published), (status.st_ino, status.st_mtime_ns)


def _is_replaceable(file: Path) -> bool:
    """Return whether no other process may still need the file, which a killed one can have left too."""
    with suppress(OSError, msgspec.MsgspecError):
        return held_lease(file.parent.resolve()) is not None or _read(file)[0].spec is None
    return True


def _is_younger_than_process(file: Path) -> bool:
    """Return whether a file was written since this process began, by the clock of the file's storage."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[-1].split()
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[_START_TIME]) / os.sysconf("SC_CLK_TCK")
        with NamedTemporaryFile(dir=file.parent, prefix=".clock-") as now:
            return file.stat().st_mtime > os.fstat(now.fileno()).st_mtime - age
    except (OSError, AttributeError):  # another system than Linux, or a folder that this process can't write to
        return False


def _state_of(file: Path) -> tuple[int, int] | None:
    with suppress(OSError, msgspec.MsgspecError):
        return _read(file)[1]
    return None


def _reason_of(problem: BaseException) -> str:
    """Return the reason of a failure in words that anybody who may read the folder may read."""
    if isinstance(problem, CaffeError):
        return str(problem)
    return f"{type(problem).__name__}; its output contains more"


def _job() -> str:
    """Return a name that all workers of this job have in common."""
    return "/".join(os.environ.get(name, "") for name in _JOB)
