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
from netdsl.distributed.run_log import EVENTS, RECORDS, RoundRecord, read_moments
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DistributedError, DivergedError, NetError, WeightsError
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.net.graph import Phase
from netdsl.net.learning import losses_of
from netdsl.solver.events import (
    Action,
    Event,
    Listener,
    Notice,
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
from netdsl.tuning.beginning import find_rate, scaled_heads
from netdsl.tuning.new_head import ACCURACY, DataLayers, heads_of, tunable_model, with_head_rates
from zoo.cards import Channels
from zoo.devices import training_devices
from zoo.finetuning.held_out import LabelledData, hold_out
from zoo.finetuning.image_preparation import PreparedModel, prepare_images
from zoo.finetuning.request import (
    EPOCHS,
    PATIENCE,
    FineTuneRequest,
    Recipe,
    fixes_statistics,
    solver_settings,
    test_batch,
    train_batch,
)
from zoo.finetuning.result import RUN, FineTuned, write_model_folder
from zoo.names import find_model, settings_of, weights_advice
from zoo.report.tuned_model import REQUEST

_DIVERGED = 3.0  # times the loss of the first test
_LOWER = 0.99  # a test's loss counts as progress if it is lower than this part of the lowest one
_SLOWER = 10.0  # by which the learning rate is divided after a training has diverged
_ROUNDS = "rounds"  # the folder of saved rounds, in a run's folder
_GOOD_WEIGHTS = "weights_before_divergence.caffemodel"
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
        for notice in begun[0].notices:
            hear(Notice(notice))
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
    """A listener that keeps only the files of the best snapshot, and asks to stop when tests no longer improve.

    The best test has the highest accuracy. Among equal accuracies, the lower loss wins. Snapshots and tests are made at
    the same iterations. In a resumed training, `tests` contains the outputs of earlier tests by iteration. `losses` are
    the weights of the outputs that are losses.
    """

    def __init__(
        self,
        patience: int | None,
        losses: Mapping[str, float],
        tests: Iterable[tuple[int, Mapping[str, float]]] = (),
    ) -> None:
        self._patience, self._losses = patience, losses
        self._tests = {iteration: self._result_of(outputs) for iteration, outputs in tests}
        self._snapshots: dict[int, SnapshotSaved] = {}

    def _result_of(self, outputs: Mapping[str, float]) -> tuple[float, float]:
        """Return the accuracy and the loss of a test, in which numbers that aren't finite are the worst."""
        accuracy = outputs.get(ACCURACY, 0.0)
        loss = sum(weight * outputs.get(name, 0.0) for name, weight in self._losses.items())
        return accuracy if math.isfinite(accuracy) else 0.0, loss if math.isfinite(loss) else math.inf

    def __call__(self, event: Event) -> None:
        """Record a test, or remove the files of all snapshots except the best."""
        if isinstance(event, TestFinished):
            self._tests[event.iteration] = self._result_of(as_numbers(event.outputs))
        elif isinstance(event, SnapshotSaved):
            self._snapshots[event.iteration] = event
            for iteration in [number for number in self._snapshots if number != self._best_iteration()]:
                _remove_snapshot(self._snapshots.pop(iteration))

    def _best_iteration(self) -> int | None:
        """Return the iteration of the best existing snapshot, or of the first of equally good ones."""

        def quality(iteration: int) -> tuple[float, float, int]:
            accuracy, loss = self._tests.get(iteration, (-1.0, math.inf))
            return accuracy, -loss, -iteration

        return max(self._snapshots, key=quality, default=None)

    @property
    def model(self) -> Path | None:
        """The best model, or `None`."""
        best = self._best_iteration()
        return None if best is None else self._snapshots[best].model

    @property
    def accuracy(self) -> float:
        """The accuracy of the best model in its test."""
        best = self._best_iteration()
        return 0.0 if best is None else self._tests.get(best, (0.0, math.inf))[0]

    @property
    def diverged(self) -> bool:
        """Whether the loss of the newest test is far above that of the first one, without a gain in accuracy."""
        if len(self._tests) < 2:
            return False
        (first_accuracy, first), (accuracy, loss) = self._tests[min(self._tests)], self._tests[max(self._tests)]
        return not loss <= _DIVERGED * first and accuracy <= first_accuracy

    def requested(self) -> Action:
        """Return a request to stop if the training diverged, or if the newest tests improved neither score nor loss."""
        if self.diverged:
            return Action.STOP
        accuracy, loss, waited = -1.0, math.inf, 0
        for iteration in sorted(self._tests):
            new_accuracy, new_loss = self._tests[iteration]
            waited = 0 if new_accuracy > accuracy or new_loss < _LOWER * loss else waited + 1
            accuracy, loss = max(accuracy, new_accuracy), min(loss, new_loss)
        return Action.NONE if self._patience is None or waited < self._patience else Action.STOP


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
    notices: tuple[str, ...] = ()  # the choices that were made for this model and these data
    slowed: bool = False  # whether the training diverged, and began again with a lower learning rate


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
        _store(tuning)
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
        at_once = batch if strategy.divides_batch else batch * count.most
        fixed = fixes_statistics(request.recipe, data.train_count, at_once)
        tunable, tuning = _tunable(model, prepared, request, data, batch, fixed=fixed)
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
    solver, compute = SolverSettings(param, run.solver.net), replace(run.compute, device=run.device(0))
    heads = scaled_heads(solver, tuple(tuning.heads.values()), [prepared.model], compute)
    weights = prepared.model.with_weights(heads.weights)
    solver = solver.with_net(replace(run.solver.net_to_train, net=with_head_rates(tunable.net, heads.rates)))
    solver, notice = _with_rate(solver, request.recipe, weights, compute)
    tuning = replace(tuning, notices=(*tuning.notices, notice))
    due = Intervals(epoch.iterations, epoch.iterations)
    return replace(run, solver=solver, due=due), tuning, weights


def _with_rate(solver: SolverSettings, recipe: Recipe, weights: Model, compute: Compute) -> tuple[SolverSettings, str]:
    """Return the solver with the learning rate to begin with, and a notice about the rate."""
    if recipe.base_lr is not None:
        return solver, f"the learning rate begins at {recipe.base_lr:g}, as --base-lr says"
    found = find_rate(solver, [weights], compute)
    words = f"the best of short trials of {found.iterations} iterations in total; --base-lr chooses another"
    return solver.with_fields(base_lr=found.rate), f"the learning rate begins at {found.rate:g}, {words}"


def _tunable(
    model: Model, prepared: PreparedModel, request: FineTuneRequest, data: LabelledData, batch: int, *, fixed: bool
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
        fixed_statistics=fixed,
    )
    channels = Channels.GRAY if transforms[pb.TRAIN].force_gray else Channels.BGR
    words = f"{channels.value}, {describe(transforms[pb.TRAIN])}"
    wanted = request.recipe.batch or batch
    limited = "" if wanted == batch else f" instead of {wanted}, because there are only {data.train_count} items"
    notices = [f"the batch has {batch} items{limited}"]
    if tunable.with_fixed_statistics:
        count = tunable.with_fixed_statistics
        notices.append(
            f"{count} layers of batch normalization use the model's means and variances, because the data are few"
        )
    return tunable.model, FineTuning(
        request, data, tunable.heads, tunable.frozen, words, prepared.notes, tuple(notices)
    )


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

    A training that diverges begins once again with a lower learning rate, from its best model, and says so. Returns
    `None` if a stop was requested. The training can be resumed then. Supervised workers also get `None`, after
    they have waited until the model is written.
    """
    folder = output / RUN
    if begun is None:
        job.train(folder, backend)
        job.go_on_together(folder, backend, "the model is written", _PROOF)
        return None
    tuning, run = begun
    asked: list[Action] = []
    losses = _losses_in_tests(run.solver.net_to_train)

    def next_action() -> Action:
        asked.append(requested())
        return asked[-1] if asked[-1] is not Action.NONE else best.requested()

    while True:
        best = _best_so_far(folder, tuning.request.patience, losses)
        try:
            ended = job.train(
                folder,
                backend,
                run=run,
                listeners=[*listeners, best],
                on_round=on_round,
                requested=next_action,
                command=command,
            )
            if not best.diverged:
                break
            problem = "the loss in tests is far above that at the beginning"
        except DivergedError as error:
            problem = str(error)
        tuning, run = _begun_slower(output, tuning, run, best.model, problem)
        if backend.started is not None:  # the other ranks have already ended
            raise DistributedError(f"{tuning.notices[-1]}; continue with `zoo finetune --resume {output}`")
        for listener in listeners:
            listener(Notice(tuning.notices[-1]))
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


def _begun_slower(
    output: Path, tuning: FineTuning, run: Run, good: Path | None, problem: str
) -> tuple[FineTuning, Run]:
    """Begin the run of a training that diverged again, from its best model or its first weights, with a lower rate.

    Raises a `DistributedError` if that was done before.
    """
    folder, rate = output / RUN, run.solver.param.base_lr
    if tuning.slowed:
        raise DistributedError(
            f"{output}: the training diverged again with a lower learning rate of {rate:g} ({problem}); look for "
            f"images or labels that are wrong, or start again in another folder with --base-lr {rate / _SLOWER:.1g}"
        )
    lower = float(f"{rate / _SLOWER:.2g}")
    weights = run.weights
    if good is not None:
        shutil.copyfile(good, folder / _GOOD_WEIGHTS)
        weights = (str((folder / _GOOD_WEIGHTS).resolve()),)
    where = "the best model so far" if good is not None else "the first weights"
    notice = f"the training diverged ({problem}); it begins again from {where} with a learning rate of {lower:g}"
    tuning = replace(tuning, slowed=True, notices=(*tuning.notices, notice))
    run = replace(run, weights=weights, solver=run.solver.with_fields(base_lr=lower))
    for path in (*folder.glob("*_iter_*"), folder / EVENTS, folder / RECORDS):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / _ROUNDS, ignore_errors=True)
    run.save(folder, again=True)
    _store(tuning)
    return tuning, run


def _store(tuning: FineTuning) -> None:
    kept = msgspec.json.format(msgspec.json.encode(tuning, enc_hook=str), indent=1)
    write_pieces(tuning.request.output / REQUEST, [kept])


def _losses_in_tests(model: Model) -> dict[str, float]:
    """Return the weights of the losses in tests, by the names of their tops."""
    built = model.layers(Phase.TEST)
    return {built.graph.blobs[edge]: weight for edge, weight in losses_of(built).items()}


def _best_so_far(folder: Path, patience: int | None, losses: Mapping[str, float]) -> _BestSnapshot:
    """Return the snapshots and tests in the log of a resumed run."""
    log = folder / EVENTS
    if not log.exists():
        return _BestSnapshot(patience, losses)
    tests = [(moment.iteration, moment.tested) for moment in read_moments(log) if ACCURACY in moment.tested]
    best = _BestSnapshot(patience, losses, tests)
    for line in read_event_log(log):
        if line.get("event") == "snapshot" and Path(line["model"]).is_file():
            best(SnapshotSaved(line["iteration"], Path(line["model"]), Path(line["state"])))
    return best
