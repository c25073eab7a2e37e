"""Fine-tuning from start to end: a model and data become a model's folder, which includes the run."""

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
from zoo.names import find_model, settings_of, weights_advice
from zoo.report.tuned_model import REQUEST

_PROOF = 1800.0  # time limit in seconds for the first worker to write and verify the model


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
    """Fine-tune a model, given by name, folder or file, to classify data, and return the new net.

    `finetune("shapes", "photos/", workers=2)` does the same as `zoo finetune`. The layer that predicts is found and
    replaced with one for the new classes. The other layers begin with the model's weights. A share of each class is
    held out and tested on after each epoch, and the best model of all tests is kept. `data` is a folder with a folder
    of images for each class, or an address such as "lmdb:PATH".

    The result is written to the folder `output`, by default MODEL_tuned: nets, weights and classes for Caffe, the ONNX
    form, a card with the measured accuracy, and the run, which `resume` continues. The net's `history` contains the
    losses and tests of the run. `replace_layers` names the layers to replace, each with its number of outputs, or
    `None` for one output per class. `freeze` contains name patterns of layers to leave unchanged. `workers`,
    `strategy`, `backend`, `callbacks` and `on_round` are as in `Net.train`. Processes that mpiexec or torchrun has
    started together take part in the same fine-tuning.
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
        raise DistributedError(f"{folder}: the fine-tuning was stopped before its end; continue it with resume=True")
    net = Net(folder / DEPLOY, weights=folder / WEIGHTS)
    net.history = History(read_moments(folder / RUN / EVENTS))
    return net


def default_output(model: str | Path) -> Path:
    """Return the default folder of the new model: the model's name with `_tuned`, in the current folder."""
    return Path(f"{Path(model).resolve().name.partition('.')[0]}_tuned")


class _BestSnapshot:
    """A listener that keeps only the files of the best snapshot, and asks to stop when the accuracy no longer improves.

    Snapshots and tests are made at the same iterations. In a resumed training, `tests` contains the accuracies of
    earlier tests by iteration.
    """

    def __init__(self, patience: int | None, tests: Iterable[tuple[int, float]] = ()) -> None:
        self._patience = patience
        self._accuracies = dict(tests)
        self._snapshots: dict[int, SnapshotSaved] = {}

    def __call__(self, event: Event) -> None:
        """Record an accuracy, or remove the files of all snapshots except the best."""
        if isinstance(event, TestFinished):
            self._accuracies[event.iteration] = as_numbers(event.outputs).get(ACCURACY, 0.0)
        elif isinstance(event, SnapshotSaved):
            self._snapshots[event.iteration] = event
            for iteration in [number for number in self._snapshots if number != self._best_iteration()]:
                _remove_snapshot(self._snapshots.pop(iteration))

    def _best_iteration(self) -> int | None:
        """Return the iteration of the best existing snapshot, or of the first of equally good ones."""
        return max(self._snapshots, key=lambda number: (self._accuracies.get(number, -1.0), -number), default=None)

    @property
    def model(self) -> Path | None:
        """The best model, or `None`."""
        best = self._best_iteration()
        return None if best is None else self._snapshots[best].model

    @property
    def accuracy(self) -> float:
        """The accuracy of the best model in its test."""
        best = self._best_iteration()
        return 0.0 if best is None else self._accuracies.get(best, 0.0)

    def requested(self) -> Action:
        """Return a request to stop if the newest tests didn't improve on the best earlier test."""
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
    """A fine-tuning that was started. It is stored next to the run, so that it can be resumed and finished."""

    request: FineTuneRequest
    data: LabelledData
    heads: dict[str, str]  # the new names of the replaced layers, by their old names
    frozen: tuple[str, ...]  # layers that keep their weights
    preparation: str  # a description of how training images are prepared
    notes: tuple[str, ...] = ()  # other remarks about images


def begin(
    request: FineTuneRequest,
    backend: Backend,
    devices: Sequence[torch.device],
    *,
    progress: Callable[[int], object] = lambda done: None,
) -> tuple[FineTuning, Run]:
    """Prepare and start the run, in the folder of the new model."""
    if request.output.exists() and any(request.output.iterdir()):
        raise FileError(
            f"{request.output}: the folder isn't empty; continue its fine-tuning with --resume, or name another "
            "folder with -o"
        )
    run_folder = request.output / RUN
    try:
        run_folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(
            f"{request.output}: the folder can't be created: {problem.strerror}; choose another folder"
        ) from None
    try:
        run, tuning, model = _prepared_run(request, backend, devices, run_folder, progress)
        kept = msgspec.json.format(msgspec.json.encode(tuning, enc_hook=str), indent=1)
        write_pieces(request.output / REQUEST, [kept])
        return tuning, job.begin(run, run_folder, backend, [model])
    except BaseException:
        shutil.rmtree(request.output, ignore_errors=True)  # so that the user can repeat the same command
        raise


def _prepared_run(
    request: FineTuneRequest,
    backend: Backend,
    devices: Sequence[torch.device],
    run_folder: Path,
    progress: Callable[[int], object],
) -> tuple[Run, FineTuning, Model]:
    """Return the run to start, the description of the fine-tuning to store, and the model with its initial weights."""
    model = open_model(request.model, request.weights, dialect=request.dialect)
    if not model.weights:
        named_file = f"a file with `zoo finetune {request.model} --weights FILE`"
        advice = "; or ".join(filter(None, [weights_advice(request.model), f"name {named_file}"]))
        raise WeightsError(f"{request.model}: the model has no weights to begin with; {advice}")
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
    """Return the model to train, which is derived from the opened one, and the description of the fine-tuning to store.

    The channel order only affects the weights. The net comes from `model`, so that its layers don't have to be built
    again.
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
    """Return a short name for data. It becomes part of the names of new layers."""
    source = parse_source(data, Content.ITEMS)
    name = source.split.value if source.split else Path(source.path).stem or source.kind
    return "".join(letter if letter.isalnum() else "_" for letter in name).strip("_") or "new"


def load(output: Path) -> tuple[FineTuning, Run]:
    """Return the fine-tuning that was started in a folder, and its run."""
    path = output / REQUEST
    try:
        tuning = msgspec.json.decode(path.read_bytes(), type=FineTuning, dec_hook=lambda kind, text: kind(text))
    except OSError as problem:
        raise FileError(
            f"{path}: the file can't be read: {problem.strerror}; name the folder of a fine-tuning"
        ) from None
    except msgspec.ValidationError as problem:
        raise FileError(
            f"{path}: the file is damaged: {problem}; start the fine-tuning again in a new folder"
        ) from None
    if not exists(output / RUN):
        raise FileError(f"{output / RUN}: the run is missing; remove {output}, and start again")
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
    """Train in a folder, from the beginning or from the last saved round, and write the best model.

    Returns `None` if a stop was requested. The training can be resumed then. Supervised workers also get `None`, after
    they have waited until the model is written.
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
                f"{folder}: there is no snapshot, so no model can be written; train longer, so that a test is run"
            )
        with backend.leading():
            tuned = write_model_folder(tuning.request, tuning.data, tuning.notes, run.solver, best.model, best.accuracy)
    job.go_on_together(folder, backend, "the model is written")
    return tuned


def _best_so_far(folder: Path, patience: int | None) -> _BestSnapshot:
    """Return the snapshots and tests in the log of a resumed run."""
    log = folder / EVENTS
    if not log.exists():
        return _BestSnapshot(patience)
    tests = [(moment.iteration, moment.tested[ACCURACY]) for moment in read_moments(log) if ACCURACY in moment.tested]
    best = _BestSnapshot(patience, [(number, value) for number, value in tests if not math.isnan(value)])
    for line in read_event_log(log):
        if line.get("event") == "snapshot" and Path(line["model"]).is_file():
            best(SnapshotSaved(line["iteration"], Path(line["model"]), Path(line["state"])))
    return best
