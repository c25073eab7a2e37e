"""Undisturbed training runs to compare with: one for each setting, made when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caffe_proto.files import read_net
from netdsl.model.weights.match import arrays_of
from tests.chaos.settings import TWO, LauncherName, TrainingSetting
from tests.chaos.user_command import UserCommands
from zoo.testing import test

_BATCHES = 6  # all batches of the test data
_LIKE_LOCAL = (LauncherName.EXTERNAL, LauncherName.MPI, LauncherName.MPIEXEC)
_PATIENCE = 600.0  # seconds without any sign of progress

Blobs = dict[str, list[NDArray[np.float32]]]


@dataclass(frozen=True)
class Reference:
    """The final weights and the duration of an undisturbed training run."""

    blobs: Blobs
    accuracy: float
    progress: int
    seconds: float


class References:
    """The undisturbed training runs of a program, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[TrainingSetting, Reference] = {}

    def of(self, setting: TrainingSetting) -> Reference:
        """Return the undisturbed run to compare with. Its bits are the same over all transports."""
        launcher = LauncherName.LOCAL if setting.launcher in _LIKE_LOCAL else setting.launcher
        plain = replace(setting, launcher=launcher, transport=None, restarts=0, workers=TWO, resumed="")
        if plain not in self._made:
            self._made[plain] = self._make(plain)
        return self._made[plain]

    def _make(self, setting: TrainingSetting) -> Reference:
        folder = self._folder / str(len(self._made))
        setting.write_files(folder)
        with UserCommands(setting, folder, 0, _PATIENCE) as commands:
            result = commands.run()
        if result.code:
            raise RuntimeError(f"{folder}: an undisturbed run of {setting} fails: {result.text}")
        model = setting.model(folder)
        return Reference(read_blobs(model), accuracy(folder, model), setting.progress(folder), result.seconds)


def read_blobs(model: Path) -> Blobs:
    """Return the blobs of a model by layer."""
    return {name: list(blobs) for name, blobs in arrays_of(read_net(model)).items()}


def accuracy(folder: Path, model: Path) -> float:
    """Return the accuracy of a model on the test data of its folder's net."""
    tested = test(net=str(folder / "net.prototxt"), weights=(str(model),), iterations=_BATCHES, device="cpu")
    return tested.outputs["accuracy"]
