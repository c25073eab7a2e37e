"""The purpose of a fine-tuning run: the model that it began with, and the data and classes that it was made for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from caffe_proto.errors import few
from netdsl.data.sources.open_source import parse_source
from netdsl.errors import DataError
from zoo.accuracy import MeasuredAccuracy
from zoo.cards import CARD

REQUEST = "finetune.json"  # in the model's folder, next to the run's

_SHOWN = 5  # number of classes in a title


@dataclass(frozen=True)
class _Request:
    model: str
    data: str
    weights: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Data:
    classes: tuple[str, ...]


@dataclass(frozen=True)
class _StoredTuning:
    request: _Request
    data: _Data
    cross_validated: MeasuredAccuracy | None = None


@dataclass(frozen=True)
class TunedModel:
    """A model that a fine-tuning makes."""

    base: str
    weights: tuple[str, ...]  # files of the base model's weights; empty if they are its own
    data: str
    classes: tuple[str, ...]
    is_written: bool  # whether the fine-tuning has ended and written the model
    cross_validated: MeasuredAccuracy | None = None

    @property
    def title(self) -> str:
        """The data and the classes for which the model was made."""
        try:
            name = Path(parse_source(self.data).path).name or self.data
        except DataError:  # the data is no longer there
            name = self.data
        return f"{name}: {few(self.classes, _SHOWN)}"

    @property
    def beginning(self) -> str:
        """The base model and its weights, in words."""
        weights = ", ".join(Path(name).name for name in self.weights)
        return f"{self.base} and {f'the weights {weights}' if weights else 'its own weights'}"


def read_tuned_model(run_folder: Path) -> TunedModel | None:
    """Return the model of a fine-tuning's run, or `None` for another run or a damaged file."""
    folder = run_folder.resolve().parent
    try:
        stored = msgspec.json.decode((folder / REQUEST).read_bytes(), type=_StoredTuning)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    request = stored.request
    return TunedModel(
        request.model,
        request.weights,
        request.data,
        stored.data.classes,
        (folder / CARD).is_file(),
        stored.cross_validated,
    )
