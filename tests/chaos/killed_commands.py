"""Commands that are killed at a write and then repeated. They must end with the files of undisturbed commands."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random
from secrets import token_hex

import cv2

from netdsl.data.sources.shapes import ShapesSource
from netdsl.data.sources.source import DataSplit
from tests.chaos.attack import Attack
from tests.chaos.faults import Faults
from tests.chaos.processes import MarkedCommand, kill_all, wait_until
from tests.chaos.settings import ZOO
from tests.chaos.verdict import FAILURES, FILES, OTHER_BITS, TRACEBACKS, CaseVerdict, tracebacks
from zoo.catalogue.writing import write_model

KILLED = "killed at a write"
_PATIENCE = 900.0  # seconds
_CLASSES = ("cross", "ring")
_COMPARED = {".caffemodel", ".h5", ".onnx", ".safetensors", ".prototxt", ".txt", ".binaryproto"}
_RESUME = "continue its fine-tuning with --resume"
_OWN = ("tmp", "photos", "source", "count", "output-*")  # what the test itself writes


class KilledCommand(Enum):
    """The commands, by their arguments."""

    CONVERT = ("convert", "source/shapes.caffemodel", "shapes.safetensors")
    EXPORT_CAFFE = ("export", "shapes", "--to", "caffe", "-o", "exported")
    EXPORT_ONNX = ("export", "shapes", "--to", "onnx", "-o", "shapes.onnx")
    PULL = ("pull", "source", "--as", "mine")
    FINETUNE = (
        *("finetune", "shapes", "--data", "photos", "--epochs", "2", "--base-lr", "0.01", "--seed", "3"),
        *("--held-out", "0.25", "-o", "tuned"),
    )


@dataclass(frozen=True)
class KilledCase:
    """A command, and the write at which it is killed, as a fraction of its writes."""

    seed: int
    command: KilledCommand
    where: float


@dataclass(frozen=True)
class UndisturbedCommand:
    """The number of writes of a command that isn't disturbed, and the hashes of its files by name."""

    writes: int
    files: dict[str, str]


def draw_killed(seed: int) -> KilledCase:
    """Draw the case of a seed."""
    random = Random(seed)
    return KilledCase(seed, random.choice(list(KilledCommand)), random.random())


class UndisturbedCommands:
    """The results of undisturbed commands, each made when it is first needed, in the folder of all cases.

    Files contain the names of folders, so they are only the same in the same folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[KilledCommand, UndisturbedCommand] = {}

    def of(self, command: KilledCommand) -> UndisturbedCommand:
        """Return the result of an undisturbed command."""
        if command not in self._made:
            folder = self._folder
            write_sources(folder)
            code, text = _run(command.value, folder, Faults(count=folder / "count"), 1)
            if code:
                raise RuntimeError(f"{folder}: an undisturbed command fails: {text}")
            self._made[command] = UndisturbedCommand(int((folder / "count").read_text()), files_of(folder))
            shutil.rmtree(folder)
        return self._made[command]

    def every_write(self) -> Iterator[KilledCase]:
        """Return a case for each write of each command."""
        for command in KilledCommand:
            count = self.of(command).writes
            yield from (KilledCase(0, command, number / count) for number in range(count))


def write_sources(folder: Path) -> None:
    """Write the files that the commands read: a model and a few photos."""
    folder.mkdir(parents=True)
    write_model("shapes", folder / "source")
    shapes = ShapesSource(DataSplit.TRAIN, _CLASSES)
    for number in range(16):
        image, label = shapes.item(shapes.fetch(number))
        path = folder / "photos" / _CLASSES[int(label)] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(cv2.imencode(".png", image.transpose(1, 2, 0))[1]))


def attack_killed(case: KilledCase, folder: Path, undisturbed: UndisturbedCommand) -> Attack:
    """Kill a command at a write, repeat it, and judge the files."""
    start, verdict = time.monotonic(), CaseVerdict()
    write_sources(folder)
    kill_at = 1 + int(case.where * undisturbed.writes)
    code, _ = _run(case.command.value, folder, Faults(kill_at=kill_at), 1)
    verdict.counts[KILLED] += code < 0
    story = [f"killed at write {kill_at} of {undisturbed.writes}: code {code}"]
    code, text = _run(case.command.value, folder, Faults(), 2)
    if _RESUME in text:
        story.append(f"code {code}")
        code, text = _run(("finetune", "--resume", "tuned"), folder, Faults(), 3)
    story.append(f"code {code}")
    if code:
        verdict.blame(FAILURES, f"the repeated command ended with code {code}: {text.strip()[-300:]}")
    else:
        _judge_files(files_of(folder), undisturbed.files, verdict)
    for path in folder.glob("output-*.txt"):
        for error in tracebacks(path.read_text(errors="replace")):
            verdict.blame(TRACEBACKS, f"{path.name}: {error}")
    return Attack(verdict, "; ".join(story), time.monotonic() - start)


def _judge_files(files: dict[str, str], wanted: dict[str, str], verdict: CaseVerdict) -> None:
    if left := sorted(files.keys() - wanted.keys()):
        verdict.blame(FILES, ", ".join(left))
    if missing := sorted(wanted.keys() - files.keys()):
        verdict.blame(FAILURES, f"missing: {', '.join(missing)}")
    other = [name for name in sorted(files.keys() & wanted.keys()) if files[name] != wanted[name]]
    if other:
        verdict.blame(OTHER_BITS, f"in {', '.join(other)}")
    if not verdict.problems:
        verdict.counts["same bits"] += 1


def _run(words: tuple[str, ...], folder: Path, faults: Faults, number: int) -> tuple[int, str]:
    """Run a command in a folder. Returns its exit code and its output."""
    mark = token_hex(8)
    environment = {**faults.environment(folder), "NETDSL_HOME": str(folder / "store")}
    command = MarkedCommand([str(ZOO), *words], folder, mark, folder / f"output-{number}.txt", environment)
    try:
        if not wait_until(lambda: command.code is not None, _PATIENCE):
            return 1, f"it didn't end within {_PATIENCE:g} s"
        return command.process.wait(), command.text()
    finally:
        kill_all(mark)
        command.process.wait()


def files_of(folder: Path) -> dict[str, str]:
    """Return the hashes of the files that commands wrote in a folder, by name. Files with times have no hash."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(Path(name.parts[0]).match(own) for own in _OWN):
            is_compared = path.suffix in _COMPARED and "run" not in name.parts
            files[str(name)] = hashlib.sha256(path.read_bytes()).hexdigest() if is_compared else ""
    return files
