"""Fine-tuning as a whole: a model and data in, and a model's folder out, with the run that made it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import msgspec
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import FileError, in_file
from caffe_proto.storage import write_pieces
from converters.caffe import DEPLOY, WEIGHTS
from netdsl.data.sources.open_source import parse_source
from netdsl.data.sources.source_name import Content
from netdsl.data.transforms.image_settings import describe
from netdsl.distributed.run import Run, exists
from netdsl.distributed.run_log import EVENTS, RoundRecord, read_moments
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DistributedError, NetError, WeightsError
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.solver.events import (
    Action,
    Event,
    Listener,
    SnapshotSaved,
    TestFinished,
    as_numbers,
    no_action,
    read_event_log,
)
from netdsl.solver.length import Intervals
from netdsl.solver.settings import SolverSettings
from netdsl.solver.snapshot_files import resume_path_of
from netdsl.solver.trainable_net import Compute
from netdsl.training import job
from netdsl.training.backends import HERE, Backend, chosen_backend
from netdsl.training.callbacks import Callback, Hearing, History
from netdsl.training.net import Net
from netdsl.training.with_workers import Team
from netdsl.tuning.new_head import ACCURACY, DataLayers, heads_of, tunable_model
from zoo.cards import Channels
from zoo.devices import training_devices
from zoo.finetuning.held_out import LabelledData, hold_out
from zoo.finetuning.image_preparation import PreparedModel, prepare_images
from zoo.finetuning.request import EPOCHS, PATIENCE, FineTuneRequest, Recipe, solver_settings, test_batch, train_batch
from zoo.finetuning.result import RUN, FineTuned, write_model_folder
from zoo.names import find_model, settings_of

_REQUEST = "finetune.json"
_PROOF = 1800.0  # seconds for the first worker to write and prove the model


def finetune(
    model: str | Path,
    data: str | Path,
    output: str | Path | None = None,
    *,
    test_data: str | Path | None = None,
    held_out: float = 0.1,
    weights: str | Path | Sequence[str | Path] = (),
    replace_layers: Mapping[str, int | None] | None = None,
    freeze: str | Sequence[str] = (),
    epochs: float = EPOCHS,
    batch: int | None = None,
    base_lr: float | None = None,
    seed: int = 1,
    patience: int | None = PATIENCE,
    device: str | torch.device | None = None,
    workers: int | str | None = None,
    strategy: str | Strategy | None = None,
    backend: str | Backend | None = None,
    dialect: str | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    on_round: Callable[[RoundRecord], object] = lambda record: None,
) -> Net:
    """Fine-tune a model, by its name, folder or file, to the classes of data, and return the new net, ready to use.

    `finetune("shapes", "photos/", workers=2)` does what `zoo finetune` does: the layer that predicts is found and
    replaced for the classes, the others begin with the model's weights, a share of each class is held out and tested on
    after each epoch, and the best model of all tests is kept. `data` is a folder with a folder of images for each
    class, or an address such as "lmdb:PATH".

    The result is written into the folder `output`, by default MODEL_tuned: nets, weights and classes for Caffe, the
    ONNX form, a card with the measured accuracy, and the run, with which `resume` goes on. The net's `history` has the
    losses and tests of the run. `replace_layers` names the
    layers to replace, with the outputs of each, or None for as many as there are classes; `freeze` has patterns of
    the names of layers that stay as they are. `workers`, `strategy`, `backend`, `callbacks` and `on_round` are those of
    `Net.train`; a process that mpiexec or torchrun has started as one of several takes part in one fine-tuning.
    """
    team = Team.of(chosen_backend(backend, workers) or HERE, workers, strategy, None)
    folder = Path(output or default_output(model))
    asked = FineTuneRequest(
        str(model),
        str(data),
        folder,
        tests=None if test_data is None else str(test_data),
        weights=tuple(map(str, [weights] if isinstance(weights, (str, Path)) else weights)),
        replaced=replace_layers or {},
        frozen=(freeze,) if isinstance(freeze, str) else tuple(freeze),
        share=held_out,
        recipe=Recipe(epochs, batch, base_lr, seed),
        workers=team.workers,
        strategy=None if strategy is None else team.strategy,
        patience=patience,
        command=f'finetune("{model}", "{data}", "{folder}")',
        dialect=dialect,
    )
    hear, begun = Hearing(callbacks), None
    if team.backend.supervises:
        here = team.backend.workers_here(team.workers.most)
        name = None if device is None else str(device)
        devices = training_devices(name, None, pb.SolverParameter(), here, remote=team.backend.remote, listen=hear)
        with team.backend.leading():
            begun = load(folder) if resume else begin(asked, team.backend, devices)
    tuned = train(folder, begun, team.backend, listeners=[hear], on_round=on_round, requested=hear.requested)
    if team.backend.supervises and tuned is None:
        raise DistributedError(f"{folder}: the fine-tuning was stopped before its end; resume=True goes on with it")
    net = Net(folder / DEPLOY, weights=folder / WEIGHTS)
    net.history = History(read_moments(folder / RUN / EVENTS))
    return net


def default_output(model: str | Path) -> Path:
    """Return the folder of the new model, if the user names none: the model's name with `_tuned`, in the current
    folder."""
    return Path(f"{Path(model).resolve().name.partition('.')[0]}_tuned")


class _BestSnapshot:
    """A listener that keeps the files of the best snapshot only, and asks to stop when nothing gets better.

    Snapshots and tests are in the same iterations. `tests` are the accuracies of earlier tests by iteration, of a
    training that is resumed.
    """

    def __init__(self, patience: int | None, tests: Iterable[tuple[int, float]] = ()) -> None:
        self._patience = patience
        self._accuracies = dict(tests)
        self._snapshots: dict[int, SnapshotSaved] = {}

    def __call__(self, event: Event) -> None:
        """Note an accuracy, or remove the files of all snapshots but the best."""
        if isinstance(event, TestFinished):
            self._accuracies[event.iteration] = as_numbers(event.outputs).get(ACCURACY, 0.0)
        elif isinstance(event, SnapshotSaved):
            self._snapshots[event.iteration] = event
            for iteration in [number for number in self._snapshots if number != self._best_iteration()]:
                _remove_snapshot(self._snapshots.pop(iteration))

    def _best_iteration(self) -> int | None:
        """Return the iteration of the best snapshot that there is; of equal ones the first."""
        return max(self._snapshots, key=lambda number: (self._accuracies.get(number, -1.0), -number), default=None)

    @property
    def model(self) -> Path | None:
        """The best model."""
        best = self._best_iteration()
        return None if best is None else self._snapshots[best].model

    @property
    def accuracy(self) -> float:
        """The accuracy of the best model in its test."""
        best = self._best_iteration()
        return 0.0 if best is None else self._accuracies.get(best, 0.0)

    def requested(self) -> Action:
        """Return a request to stop, once the newest tests weren't better than the best before them."""
        if self._patience is None or not self._accuracies:
            return Action.NONE
        best = max(self._accuracies, key=lambda number: (self._accuracies[number], -number))
        later = [number for number in self._accuracies if number > best]
        return Action.STOP if len(later) >= self._patience else Action.NONE


def _remove_snapshot(snapshot: SnapshotSaved) -> None:
    for path in (snapshot.model, snapshot.state, resume_path_of(snapshot.state)):
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class FineTuning:
    """What was begun: kept beside the run, so that it can be resumed and finished."""

    request: FineTuneRequest
    data: LabelledData
    heads: dict[str, str]  # old names and new ones
    frozen: tuple[str, ...]  # the layers that keep their weights
    preparation: str  # of images for training, in words
    notes: tuple[str, ...] = ()  # what else there is to know about images


def begin(
    request: FineTuneRequest,
    backend: Backend,
    devices: Sequence[torch.device],
    *,
    progress: Callable[[int], object] = lambda done: None,
) -> tuple[FineTuning, Run]:
    """Prepare everything and begin the run, in the folder of the new model."""
    if request.output.exists() and any(request.output.iterdir()):
        raise FileError(
            f"{request.output}: has files already; --resume goes on with it, or name another folder with -o"
        )
    run_folder = request.output / RUN
    try:
        run_folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"{request.output}: can't be made: {problem.strerror}") from None
    try:
        run, tuning, model = _prepared_run(request, backend, devices, run_folder, progress)
        kept = msgspec.json.format(msgspec.json.encode(tuning, enc_hook=str), indent=1)
        write_pieces(request.output / _REQUEST, [kept])
        return tuning, job.begin(run, run_folder, backend, [model])
    except BaseException:
        shutil.rmtree(request.output, ignore_errors=True)  # so that the same command can be given again
        raise


def _prepared_run(
    request: FineTuneRequest,
    backend: Backend,
    devices: Sequence[torch.device],
    run_folder: Path,
    progress: Callable[[int], object],
) -> tuple[Run, FineTuning, Model]:
    """Return the run that is to begin, what is kept of the fine-tuning, and the model with the weights to begin
    with."""
    model = open_model(request.model, request.weights, dialect=request.dialect)
    if not model.weights:
        raise WeightsError(f"{request.model}: has no weights to begin with; --weights names a file that has")
    named = find_model(Path(request.model))
    count = WorkerCount(backend.started or 1) if request.workers is None else request.workers
    data = hold_out(request.data, request.tests, request.share, request.recipe.seed, run_folder, progress)
    strategy = request.strategy or ModelAveraging()
    batch = train_batch(request.recipe, data.train_count, strategy, count.most)
    try:
        prepared = prepare_images(model, named, request.output)
        tunable, tuning = _tunable(model, prepared, request, data, batch)
    except NetError as problem:
        raise type(problem)(in_file(request.model, problem)) from None
    run = Run(
        SolverSettings(pb.SolverParameter(), Model(tunable.net)),
        strategy,
        workers=count.most,
        fewest=count.fewest,
        compute=Compute(devices[0]) if devices else Compute(),
        devices=tuple(devices),
    )
    epoch = run.epoch_of(Fraction(data.train_count, batch))
    authors = None if named is None else settings_of(named)
    param = solver_settings(authors, request.recipe, epoch, tests=data.test_count)
    param.snapshot_prefix = request.output.resolve().name
    due = Intervals(epoch.iterations, epoch.iterations)
    return replace(run, solver=SolverSettings(param, run.solver.net), due=due), tuning, prepared.model


def _tunable(
    model: Model, prepared: PreparedModel, request: FineTuneRequest, data: LabelledData, batch: int
) -> tuple[Model, FineTuning]:
    """Return the model that is trained, made of the one that was opened, and what is kept of the fine-tuning.

    Other orders of channels are a matter of weights, so the net is that of `model`, whose layers are known already.
    """
    transforms, sources = prepared.transforms, {pb.TRAIN: data.train, pb.TEST: data.tests}
    batches = {pb.TRAIN: batch, pb.TEST: test_batch(data.test_count)}
    tunable = tunable_model(
        model,
        DataLayers(sources, batches, transforms),
        heads_of(model, request.replaced, len(data.classes)),
        _short_name_of_data(request.data),
        request.frozen,
    )
    channels = Channels.GRAY if transforms[pb.TRAIN].force_gray else Channels.BGR
    words = f"{channels.value}, {describe(transforms[pb.TRAIN])}"
    return tunable.model, FineTuning(request, data, tunable.heads, tunable.frozen, words, prepared.notes)


def _short_name_of_data(data: str) -> str:
    """Return a short name for data, for the names of layers that learn from them."""
    source = parse_source(data, Content.ITEMS)
    name = source.split.value if source.split else Path(source.path).stem or source.kind
    return "".join(letter if letter.isalnum() else "_" for letter in name).strip("_") or "new"


def load(output: Path) -> tuple[FineTuning, Run]:
    """Return the fine-tuning that was begun in a folder, and its run."""
    path = output / _REQUEST
    try:
        tuning = msgspec.json.decode(path.read_bytes(), type=FineTuning, dec_hook=lambda kind, text: kind(text))
    except OSError as problem:
        raise FileError(f"{path}: can't be read: {problem.strerror}; was a fine-tuning begun there?") from None
    except msgspec.ValidationError as problem:
        raise FileError(f"{path}: is damaged: {problem}") from None
    if not exists(output / RUN):
        raise FileError(f"{output / RUN}: has no run; remove {output}, and begin again")
    return replace(tuning, request=replace(tuning.request, output=output)), Run.load(output / RUN)


def train(
    output: Path,
    begun: tuple[FineTuning, Run] | None,
    backend: Backend,
    *,
    listeners: Sequence[Listener] = (),
    on_round: Callable[[RoundRecord], object] = lambda record: None,
    requested: Callable[[], Action] = no_action,
    command: Sequence[str] = (),
) -> FineTuned | None:
    """Train what was begun in a folder, from its beginning or its last saved round, and write the best model.

    The result is None if a stop was requested, after which it can be resumed. Workers that others supervise have begun
    nothing, get no result, and wait until the model is written.
    """
    folder = output / RUN
    if begun is None:
        job.train(folder, backend)
        job.go_on_together(folder, backend, "the model is written", _PROOF)
        return None
    tuning, run = begun
    best = _best_so_far(folder, tuning.request.patience)
    asked: list[Action] = []

    def next_action() -> Action:
        asked.append(requested())
        return asked[-1] if asked[-1] is not Action.NONE else best.requested()

    ended = job.train(
        folder,
        backend,
        run=run,
        listeners=[*listeners, best],
        on_round=on_round,
        requested=next_action,
        command=command,
    )
    tuned = None
    if ended is not None and Action.STOP not in asked:
        if best.model is None:
            raise DistributedError(
                f"{folder}: has no snapshot, so nothing was learned; did its training end before a test?"
            )
        with backend.leading():
            tuned = write_model_folder(tuning.request, tuning.data, tuning.notes, run.solver, best.model, best.accuracy)
    job.go_on_together(folder, backend, "the model is written")
    return tuned


def _best_so_far(folder: Path, patience: int | None) -> _BestSnapshot:
    """Return the snapshots and tests in the log of a run that is resumed."""
    log = folder / EVENTS
    if not log.exists():
        return _BestSnapshot(patience)
    tests = [(moment.iteration, moment.tested[ACCURACY]) for moment in read_moments(log) if ACCURACY in moment.tested]
    best = _BestSnapshot(patience, [(number, value) for number, value in tests if not math.isnan(value)])
    for line in read_event_log(log):
        if line.get("event") == "snapshot" and Path(line["model"]).is_file():
            best(SnapshotSaved(line["iteration"], Path(line["model"]), Path(line["state"])))
    return best
