"""The folds of a cross-validation: a fold's items, its place in a model's folder, and the test of its model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from caffe_proto.copies import copy_of
from caffe_proto.errors import FileError
from caffe_proto.storage import write_pieces
from netdsl.data.sources.open_source import open_source, parse_source
from netdsl.data.sources.source_name import Content
from netdsl.distributed.run import Run
from netdsl.model.opening import add_weights, copy_model
from netdsl.net.graph import Phase
from netdsl.solver.evaluation import average_batches
from netdsl.solver.events import as_numbers
from netdsl.solver.trainable_net import ModuleNet
from netdsl.training.data_sources import data_layers, set_source
from netdsl.tuning.new_head import ACCURACY
from zoo.accuracy import MeasuredAccuracy, baselines_of
from zoo.finetuning.held_out import divide
from zoo.finetuning.request import FineTuneRequest, test_batch

MORE_ITEMS = "more --data"  # the advice for few items

FOLDS = "folds"  # a folder in the model's folder


@dataclass(frozen=True)
class FoldProgress:
    """The progress of a cross-validation in words."""

    line: str


@dataclass(frozen=True)
class Fold:
    """A fold of the data of a fine-tuning in the folder `output`. Folds are numbered from 1.

    A model is fine-tuned on the items of the other folds, in the fold's own folder, exactly as without folds. So the
    fold's items choose neither the learning rate nor the best epoch. They are used only for a single test of the model.
    """

    output: Path
    number: int

    @property
    def folder(self) -> Path:
        """The folder of the fine-tuning."""
        return self.output / FOLDS / f"fold_{self.number}"

    @property
    def lists(self) -> tuple[Path, Path]:
        """The files with the numbers of the items of the other folds, and of this fold."""
        train, test = (self.folder.with_name(f"{self.folder.name}_{part}_items.txt") for part in ("train", "test"))
        return train, test

    @property
    def _result(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.json")

    @property
    def measured(self) -> MeasuredAccuracy | None:
        """The stored accuracy, or `None` if the fold isn't tested yet."""
        try:
            return msgspec.json.decode(self._result.read_bytes(), type=MeasuredAccuracy)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as problem:
            raise FileError(
                f"{self._result}: the accuracy can't be read: {problem}; remove the file, and continue with --resume"
            ) from None

    def request(self, whole: FineTuneRequest) -> FineTuneRequest:
        """Return the request to fine-tune on the items of the other folds."""
        return replace(whole, data=self._sources(whole.data)[0], output=self.folder, folds=None)

    def _sources(self, data: str) -> tuple[str, str]:
        """Return the names of the other folds' items and of this fold's items."""
        name = parse_source(data, Content.ITEMS)
        train, test = (str(name.with_items(path.resolve())) for path in self.lists)
        return train, test

    def test(self, data: str, run: Run, weights: Path) -> MeasuredAccuracy:
        """Return the accuracy of the trained model on the items of this fold, and store it."""
        train, tests = self._sources(data)
        with closing(open_source(tests)) as source:
            items = len(source)
        accuracy = _accuracy_of(run, weights, tests, items)
        measured = MeasuredAccuracy.of(accuracy, items, baselines_of(train, tests), MORE_ITEMS)
        write_pieces(self._result, [msgspec.json.format(msgspec.json.encode(measured), indent=1)])
        return measured


def _accuracy_of(run: Run, weights: Path, source: str, items: int) -> float:
    """Return the accuracy of a run's test net on another source, each of whose items counts once."""
    batch, model = test_batch(items), run.solver.net_to_train.only(Phase.TEST)
    net = copy_of(model.net)
    for layer in data_layers(net):
        set_source(layer, source)
        layer.data_param.batch_size = batch
    model = add_weights(replace(model, net=net), [weights])
    with closing(ModuleNet.open(model, replace(run.compute, device=run.device(0)))) as tested:
        copy_model(model, tested.built)
        means = average_batches(tested, items // batch)
    assert means is not None  # nothing interrupts this test
    return as_numbers(means[1])[ACCURACY]


def folds_of(output: Path, count: int | None) -> list[Fold]:
    """Return the folds of a fine-tuning in a folder."""
    return [Fold(output, number) for number in range(1, (count or 0) + 1)]


def divide_into_folds(request: FineTuneRequest, progress: Callable[[int], object]) -> None:
    """Divide the data of a fine-tuning into folds, and write the numbers of their items."""
    if folds := folds_of(request.output, request.folds):
        folds[0].folder.parent.mkdir(exist_ok=True)
        divide(request.data, [fold.lists for fold in folds], request.recipe.seed, progress)
