"""Judge a training run after its disturbances."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG

import numpy as np

from caffe_proto.errors import CaffeError
from netdsl.distributed.run_log import EVENTS, read_moments, read_records
from tests.chaos.disturbances import OF_WORKERS, ROOM
from tests.chaos.processes import wait_until
from tests.chaos.references import Reference, accuracy, read_blobs
from tests.chaos.settings import COPY, MOVED, RANK_LOGS, RUN, TrainingSetting
from tests.chaos.user_command import CommandResult

TRACEBACKS, HANGS, FAILURES, OTHER_BITS, PROCESSES, FILES, LOGS, SCORES = WRONG = (
    "tracebacks",
    "hangs",
    "failures",
    "other bits",
    "processes left",
    "files left",
    "logs unreadable",
    "bad scores",
)
_TRACEBACK = "Traceback (most recent call last)"
_UNCHECKED = "has no hashes"
_HELD = "the run is held by process"
_SHARED = Path("/dev/shm")
_PROCESS = re.compile(r"(?<![0-9a-zA-Z])[1-9][0-9]{1,6}(?![0-9a-zA-Z])")  # a process number in the name of a file
_VANISH = 3.0  # seconds in which another program's shared files may disappear
_NEAR = 0.15  # of accuracy; a run this short whose bits depend on timing comes at least this close
_BY_SIGNAL = (130, 143)  # exit codes of a command that a signal ended


@dataclass
class CaseVerdict:
    """The counts of a case, and a line for each fault."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def blame(self, kind: str, problem: str) -> None:
        """Note a fault."""
        assert kind in WRONG
        self.counts[kind] += 1
        self.problems.append(f"{kind}: {problem}")


def judge_command(setting: TrainingSetting, result: CommandResult, verdict: CaseVerdict) -> None:
    """Judge how a command ended, given its disturbances."""
    if result.hung:
        verdict.blame(HANGS, result.hung)
        return
    for other in result.others:
        if other.code not in (0, 2, *_BY_SIGNAL) and other.code > 0:
            verdict.blame(FAILURES, f"a second command ended with code {other.code}: {_last_line(other.text)}")
        verdict.counts["second commands refused"] += _HELD in other.text
    kinds = [disturbance.kind for disturbance in result.disturbances]
    recovers = setting.restarts_workers or len(kinds) <= setting.restarts
    if result.code and (not kinds or (recovers and set(kinds) <= set(OF_WORKERS))):
        what = "by itself" if not kinds else "although all workers could begin again"
        verdict.blame(FAILURES, f"a command ended with code {result.code} {what}: {_last_line(result.text)}")
    elif result.code > 0 and not (result.code in _BY_SIGNAL or "zoo: " in result.text or setting.is_started):
        verdict.blame(FAILURES, f"a command ended with code {result.code} without saying why")


def judge_model(setting: TrainingSetting, folder: Path, reference: Reference, verdict: CaseVerdict) -> None:
    """Compare the model with the undisturbed run's."""
    _judge_blobs(setting, folder, setting.model(folder), reference, verdict)


def judge_copy(
    setting: TrainingSetting, folder: Path, result: CommandResult, reference: Reference, verdict: CaseVerdict
) -> None:
    """Judge the training that continued in a copy of the run's folder, made while the run was trained."""
    if result.code == 0:
        _judge_blobs(setting, folder, folder / COPY / setting.model(folder).name, reference, verdict)
    elif "saved rounds are damaged" not in result.text:
        verdict.blame(FAILURES, f"a copy can't be resumed: {_last_line(result.text)}")


def put_back(folder: Path, verdict: CaseVerdict) -> None:
    """Move a run's folder back to its place, which must have stayed empty."""
    if (folder / MOVED).exists():
        if (folder / RUN).exists():
            files = [str(path.relative_to(folder)) for path in (folder / RUN).rglob("*")]
            verdict.blame(FILES, f"in the place of a moved folder: {', '.join(files) or 'an empty folder'}")
            shutil.rmtree(folder / RUN)
        (folder / MOVED).rename(folder / RUN)


def _judge_blobs(
    setting: TrainingSetting, folder: Path, model: Path, reference: Reference, verdict: CaseVerdict
) -> None:
    try:
        blobs = read_blobs(model)
    except CaffeError as problem:
        verdict.blame(FAILURES, str(problem))
        return
    if setting.same_bits:
        different = [name for name, arrays in reference.blobs.items() if not _same(blobs.get(name), arrays)]
        if different and _UNCHECKED in "".join(path.read_text() for path in folder.glob("output-*.txt")):
            verdict.counts["other bits, as was said"] += 1  # without its resume file, a snapshot is like one of Caffe's
        elif different:
            verdict.blame(OTHER_BITS, f"in {', '.join(different)}")
        else:
            verdict.counts["same bits"] += 1
        return
    finite = all(np.isfinite(array).all() for arrays in blobs.values() for array in arrays)
    score = accuracy(folder, model)
    if not finite or score < reference.accuracy - _NEAR:
        verdict.blame(SCORES, f"an accuracy of {score:.3f}, undisturbed {reference.accuracy:.3f}")
    else:
        verdict.counts["near"] += 1


def _same(arrays: list[np.ndarray] | None, others: list[np.ndarray]) -> bool:
    return arrays is not None and [each.tobytes() for each in arrays] == [each.tobytes() for each in others]


def judge_folder(setting: TrainingSetting, folder: Path, verdict: CaseVerdict) -> None:
    """Check the files that a finished run leaves in its folder."""
    hidden = [path for path in folder.rglob(".*") if "planted" not in path.name and folder / "tmp" not in path.parents]
    left = [*hidden, *folder.rglob("control.json"), *folder.rglob("lease.json")]
    if left:
        verdict.blame(FILES, ", ".join(str(path.relative_to(folder)) for path in left))
    if setting.has_journal:
        try:
            read_records(folder / RUN)
            read_moments(folder / RUN / EVENTS)
        except CaffeError as problem:
            verdict.blame(LOGS, str(problem))


def judge_output(setting: TrainingSetting, folder: Path, verdict: CaseVerdict) -> None:
    """Look for tracebacks in the user's output. For torchrun and mpiexec, only those of the workers count."""
    outputs = [] if setting.is_started else list(folder.glob("output-*.txt"))
    for path in [*outputs, *folder.glob(f"{RUN}/logs/*"), *(folder / RANK_LOGS).rglob("*.log")]:
        for error in tracebacks(path.read_text(errors="replace")):
            verdict.blame(TRACEBACKS, f"{path.relative_to(folder)}: {error}")


def tracebacks(text: str) -> Iterator[str]:
    """Return the last lines of the tracebacks in a text."""
    for part in text.split(_TRACEBACK)[1:]:
        yield next((line for line in part.splitlines()[1:] if re.match(r"\S", line)), "it has no end")


class SharedFiles:
    """This user's files in shared memory. A training run must leave none."""

    def __init__(self) -> None:
        self._since = time.time()

    def judge(self, verdict: CaseVerdict) -> None:
        """Report files that were created meanwhile and that no process removes."""
        if not wait_until(lambda: not self._new(), _VANISH):
            verdict.blame(FILES, ", ".join(map(str, self._new())))

    def _new(self) -> list[Path]:
        paths = []
        for path in _SHARED.glob("*") if _SHARED.is_dir() else ():
            try:
                status = path.stat()
            except OSError:
                continue
            is_new = S_ISREG(status.st_mode) and status.st_uid == os.getuid() and status.st_ctime >= self._since
            # UCX leaves a file if memory is full too, which only the imitation of a full disk makes it.
            is_cut = path.name.startswith("ucx_") and status.st_size <= ROOM
            if is_new and not is_cut and not _names_a_living_process(path.name):
                paths.append(path)
        return paths


def _names_a_living_process(name: str) -> bool:
    """Return whether a file's name contains the number of a living process. The run's own processes have ended."""
    return any(Path("/proc", number).exists() for number in _PROCESS.findall(name))


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "it wrote nothing")
