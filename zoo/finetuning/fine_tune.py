"""Fine-tuning from start to end: a model and data become a model's folder, which includes the run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
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
    Listener,
    Notice,
    no_action,
)
from netdsl.solver.length import Intervals
from netdsl.solver.settings import SolverSettings
from netdsl.solver.trainable_net import Compute
from netdsl.training import job
from netdsl.training.backends import HERE, Backend, chosen_backend
from netdsl.training.callbacks import Callback, Hearing, History
from netdsl.training.net import Net
from netdsl.training.with_workers import Team
from netdsl.tuning.beginning import find_rate, fitted_heads
from netdsl.tuning.new_head import (
    DataLayers,
    heads_of,
    tunable_model,
    with_head_rates,
    with_standardized_images,
)
from zoo.accuracy import MeasuredAccuracy
from zoo.cards import Channels
from zoo.devices import training_devices
from zoo.finetuning.best_snapshot import best_so_far
from zoo.finetuning.cross_validation import MORE_ITEMS, Fold, FoldProgress, divide_into_folds, folds_of
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
from zoo.names import described_model, settings_of, weights_advice
from zoo.report.tuned_model import REQUEST
from zoo.requests.training import check_folds

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
    folds: int | None = None,
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

    `folds` requests a cross-validation first. Each fold of the data is tested once, with a model that is fine-tuned on
    the other folds, and the card states the accuracy on all of them.
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
        folds=folds,
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
    tuned = train(
        folder,
        begun,
        team.backend,
        folds=None if resume else folds,
        listeners=[hear],
        on_round=on_round,
        on_fold=lambda progress: hear(Notice(progress.line)),
        requested=hear.requested,
    )
    if team.backend.supervises and tuned is None:
        raise DistributedError(f"{folder}: the fine-tuning was stopped before its end; continue it with resume=True")
    net = Net(folder / DEPLOY, weights=folder / WEIGHTS)
    net.history = History(read_moments(folder / RUN / EVENTS))
    return net


def default_output(model: str | Path) -> Path:
    """Return the default folder of the new model: the model's name with `_tuned`, in the current folder."""
    return Path(f"{Path(model).resolve().name.partition('.')[0]}_tuned")


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
    cross_validated: MeasuredAccuracy | None = None  # if folds were requested, and all of them are tested


@dataclass(frozen=True)
class _Trained:
    """A fine-tuning whose run has ended, and its best model."""

    tuning: FineTuning
    run: Run
    model: Path
    accuracy: float


def begin(
    request: FineTuneRequest,
    backend: Backend,
    devices: Sequence[torch.device],
    *,
    progress: Callable[[int], object] = lambda done: None,
) -> tuple[FineTuning, Run]:
    """Prepare and start the run, in the folder of the new model. Data for a cross-validation are divided."""
    check_folds(request.folds, request.tests)
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
            f"{request.output}: the folder can't be created: {problem.strerror}; choose a folder that you can "
            "write to, or free space there"
        ) from None
    try:
        divide_into_folds(request, progress)
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
    named = described_model(Path(request.model), request.weights)
    count = WorkerCount(backend.started or 1) if request.workers is None else request.workers
    data = hold_out(request.data, request.tests, request.share, request.recipe.seed, run_folder, progress)
    strategy = request.strategy or ModelAveraging()
    batch = train_batch(request.recipe, data.train_count, strategy, count.most)
    try:
        if named is not None and named.card.input is not None and named.card.input.standardized:
            model = with_standardized_images(model)  # data layers can't standardize images
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
    heads = fitted_heads(solver, tuple(tuning.heads.values()), [prepared.model], compute, data.train_count)
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
    words = f"found by a range test of {found.iterations} iterations; --base-lr chooses another"
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
    tuning = _stored(output)
    if not exists(output / RUN):
        raise FileError(f"{output / RUN}: the run is missing; remove {output}, and start the fine-tuning again")
    return replace(tuning, request=replace(tuning.request, output=output)), Run.load(output / RUN)


def _stored(output: Path) -> FineTuning:
    path = output / REQUEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=FineTuning, dec_hook=lambda kind, text: kind(text))
    except OSError as problem:
        raise FileError(
            f"{path}: the file can't be read: {problem.strerror}; name a folder that `zoo finetune` wrote"
        ) from None
    except msgspec.ValidationError as problem:
        raise FileError(
            f"{path}: the file is damaged: {problem}; start the fine-tuning again in a new folder"
        ) from None


def train(
    output: Path,
    begun: tuple[FineTuning, Run] | None,
    backend: Backend,
    *,
    folds: int | None = None,
    listeners: Sequence[Listener] = (),
    on_round: Callable[[RoundRecord], object] = lambda record: None,
    on_fold: Callable[[FoldProgress], object] = lambda progress: None,
    requested: Callable[[], Action] = no_action,
    command: Sequence[str] = (),
) -> FineTuned | None:
    """Train in a folder, from the beginning or from the last saved round, and write the best model.

    If folds were requested, each of them is trained and tested first, unless that is done already. Returns `None` if a
    stop was requested. The training can be resumed then. Supervised workers also get `None`, after they have waited
    until the model is written. They state the number of `folds` unless the training is resumed.
    """
    if begun is None:
        _take_part(output, backend, folds)
        return None

    def train_best(begun: tuple[FineTuning, Run]) -> _Trained | None:
        return _best_of_training(begun, output, backend, listeners, on_round, requested, command)

    tuning, run = begun
    if tuning.request.folds is not None and tuning.cross_validated is None:
        measured = _cross_validate(tuning.request, run, backend, train_best, on_fold)
        if measured is None:
            return None
        tuning = replace(tuning, cross_validated=measured)
        _store(tuning)
    trained, tuned = train_best((tuning, run)), None
    if trained is not None:
        tuning, solver = trained.tuning, trained.run.solver
        with backend.leading():
            tuned = write_model_folder(
                tuning.request,
                tuning.data,
                tuning.notes,
                solver,
                trained.model,
                trained.accuracy,
                tuning.cross_validated,
            )
        for fold in folds_of(output, tuning.request.folds):
            shutil.rmtree(fold.folder, ignore_errors=True)
    job.go_on_together(output / RUN, backend, "the model is written")
    return tuned


def _take_part(output: Path, backend: Backend, folds: int | None) -> None:
    """Do a supervised worker's part of a fine-tuning: of the folds that aren't tested yet, and of the model to keep."""
    if folds is None and (output / REQUEST).exists():
        folds = _stored(output).request.folds
    for fold in folds_of(output, folds):
        if fold.measured is None:
            job.train(fold.folder / RUN, backend)
            job.go_on_together(fold.folder / RUN, backend, f"fold {fold.number} is tested", _PROOF)
        if fold.measured is None:  # a stop was requested
            return
    job.train(output / RUN, backend)
    job.go_on_together(output / RUN, backend, "the model is written", _PROOF)


def _cross_validate(
    request: FineTuneRequest,
    run: Run,
    backend: Backend,
    train_best: Callable[[tuple[FineTuning, Run]], _Trained | None],
    on_fold: Callable[[FoldProgress], object],
) -> MeasuredAccuracy | None:
    """Train and test the folds that aren't tested yet, and return the accuracy on all of them, or `None` if a stop was
    requested. `run` trains on all data."""
    measured = list[MeasuredAccuracy]()
    for fold in folds_of(request.output, request.folds):
        name = f"fold {fold.number} of {request.folds}"
        accuracy = fold.measured
        if accuracy is None:
            with backend.leading():
                begun = _begun_fold(fold, request, backend, run.devices)
            items = begun[0].data.train_count + begun[0].data.test_count
            for line in (f"the data are the {items:,} items of the other folds", *begun[0].notices):
                on_fold(FoldProgress(f"{name}: {line}"))
            trained = train_best(begun)
            if trained is not None:
                with backend.leading():
                    accuracy = fold.test(request.data, trained.run, trained.model)
            job.go_on_together(fold.folder / RUN, backend, f"fold {fold.number} is tested")
            if accuracy is None:
                return None
            for earlier in folds_of(request.output, fold.number - 1):  # all workers have left their folders
                shutil.rmtree(earlier.folder, ignore_errors=True)
        on_fold(FoldProgress(f"{name}: {accuracy.sentence}"))
        measured.append(accuracy)
    on_fold(FoldProgress("all folds are tested; the model to keep is trained on the items of all folds"))
    return MeasuredAccuracy.of_folds(measured, MORE_ITEMS)


def _begun_fold(
    fold: Fold, request: FineTuneRequest, backend: Backend, devices: Sequence[torch.device]
) -> tuple[FineTuning, Run]:
    """Begin the fine-tuning for a fold, or return the one that was interrupted."""
    if (fold.folder / REQUEST).exists() and exists(fold.folder / RUN):
        return load(fold.folder)
    shutil.rmtree(fold.folder, ignore_errors=True)
    return begin(fold.request(request), backend, devices)


def _best_of_training(
    begun: tuple[FineTuning, Run],
    output: Path,
    backend: Backend,
    listeners: Sequence[Listener],
    on_round: Callable[[RoundRecord], object],
    requested: Callable[[], Action],
    command: Sequence[str],
) -> _Trained | None:
    """Train a run and return its best model, or `None` if a stop was requested.

    A training that diverges begins once again with a lower learning rate, from its best model, and says so. `output` is
    the folder of the fine-tuning to resume, to which the run belongs.
    """
    tuning, run = begun
    folder = tuning.request.output / RUN
    asked: list[Action] = []
    losses = _losses_in_tests(run.solver.net_to_train)

    def next_action() -> Action:
        asked.append(requested())
        return asked[-1] if asked[-1] is not Action.NONE else best.requested()

    while True:
        best = best_so_far(folder, tuning.request.patience, losses)
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
            problem = "the loss is far above that at the beginning"
        except DivergedError as error:
            problem = str(error)
        tuning, run = _begun_slower(tuning.request.output, tuning, run, best.model, problem)
        if backend.started is not None:  # the other ranks have already ended
            raise DistributedError(f"{tuning.notices[-1]}; continue with `zoo finetune --resume {output}`")
        for listener in listeners:
            listener(Notice(tuning.notices[-1]))
    if ended is None or Action.STOP in asked:
        return None
    if best.model is None:
        raise DistributedError(
            f"{folder}: there is no snapshot, so no model can be written; raise --epochs, so that a test is run"
        )
    return _Trained(tuning, run, best.model, best.accuracy)


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
