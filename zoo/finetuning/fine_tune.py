"""Fine-tuning from start to end: a model and data become a model's folder, which includes the run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from caffe_proto import caffe_pb2 as pb
from converters.caffe import DEPLOY, WEIGHTS
from netdsl.distributed.journal import ROUNDS
from netdsl.distributed.run import Run, exists
from netdsl.distributed.run_log import EVENTS, RECORDS, RoundRecord, read_moments
from netdsl.distributed.shipped_code import shipping
from netdsl.distributed.strategies.strategy import Strategy
from netdsl.errors import DistributedError, DivergedError
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from netdsl.net.learning import losses_of
from netdsl.solver.events import (
    Action,
    Listener,
    Notice,
    no_action,
)
from netdsl.training import job
from netdsl.training.backends import HERE, Backend, chosen_backend
from netdsl.training.callbacks import Callback, Hearing, History
from netdsl.training.net import Net
from netdsl.training.with_workers import Team
from zoo.accuracy import MeasuredAccuracy
from zoo.devices import training_devices
from zoo.finetuning.best_snapshot import UNTRAINED, BestSnapshot, best_so_far
from zoo.finetuning.cross_validation import MORE_ITEMS, Fold, FoldProgress, folds_of
from zoo.finetuning.request import (
    EPOCHS,
    PATIENCE,
    FineTuneRequest,
    Recipe,
)
from zoo.finetuning.result import RUN, FineTuned, write_model_folder
from zoo.finetuning.start import FineTuning, begin, holding, load, store, stored
from zoo.report.tuned_model import REQUEST

_SLOWER = 10.0  # by which the learning rate is divided after a training has diverged
_UNTRAINED_IS_BEST = (
    "no test during the training was better than the one before it, so the model keeps its first weights, in which "
    "only the new layer is fitted to the data; raise --epochs or lower --base-lr to train further"
)
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
    ship: bool = False,
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
    `strategy`, `backend`, `ship`, `callbacks` and `on_round` are as in `Net.train`. Processes that mpiexec or torchrun
    has started together take part in the same fine-tuning.

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
    with shipping(ship), holding(folder, team.backend, resumes=resume, note=lambda text: hear(Notice(text))):
        if team.backend.supervises:
            here = team.backend.workers_here(team.workers.most)
            name = None if device is None else str(device)
            remote = team.backend.on_other_machines
            devices = training_devices(name, None, pb.SolverParameter(), here, remote=remote, listen=hear)
            with team.backend.leading(first_run(folder, folds)):
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
class _Trained:
    """A fine-tuning whose run has ended, and its best model."""

    tuning: FineTuning
    run: Run
    model: Path
    accuracy: float


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
        store(tuning)
    trained, tuned = train_best((tuning, run)), None
    if trained is not None:
        tuning, solver = trained.tuning, trained.run.solver
        with backend.leading(output / RUN):
            tuned = write_model_folder(
                tuning.request,
                tuning.data,
                tuning.notes,
                solver,
                trained.model,
                trained.accuracy,
                tuning.cross_validated,
                note=lambda text: _tell(listeners, text),
            )
        for fold in folds_of(output, tuning.request.folds):
            shutil.rmtree(fold.folder, ignore_errors=True)
    job.go_on_together(output / RUN, backend, "the model is written")
    return tuned


def _tell(listeners: Sequence[Listener], text: str) -> None:
    """Send a notice to all listeners."""
    for listener in listeners:
        listener(Notice(text))


def first_run(output: Path, folds: int | None) -> Path:
    """Return the folder of the run with which the training begins or goes on: that of a fold, or of the model to
    keep."""
    untested = (fold.folder for fold in _folds_in(output, folds) if fold.measured is None)
    return next(untested, output) / RUN


def _folds_in(output: Path, folds: int | None) -> list[Fold]:
    """Return the folds of a fine-tuning. If their number isn't stated, it is the one of the fine-tuning that began in
    the folder."""
    if folds is None and (output / REQUEST).exists():
        folds = stored(output).request.folds
    return folds_of(output, folds)


def _take_part(output: Path, backend: Backend, folds: int | None) -> None:
    """Do a supervised worker's part of a fine-tuning: of the folds that aren't tested yet, and of the model to keep."""
    for fold in _folds_in(output, folds):
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
            with backend.leading(fold.folder / RUN):
                begun = _begun_fold(fold, request, backend, run.devices)
            items = begun[0].data.train_count + begun[0].data.test_count
            for line in (f"the data are the {items:,} items of the other folds", *begun[0].notices):
                on_fold(FoldProgress(f"{name}: {line}"))
            trained = train_best(begun)
            if trained is not None:
                with backend.leading(fold.folder / RUN):
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
        tuning, run = _begun_slower(tuning.request.output, tuning, run, best, problem)
        if backend.started is not None:  # the other ranks have already ended
            raise DistributedError(f"{tuning.notices[-1]}; continue with `zoo finetune --resume {output}`")
        _tell(listeners, tuning.notices[-1])
    if ended is None or Action.STOP in asked:
        return None
    if best.model is None:
        raise DistributedError(
            f"{folder}: there is no snapshot, so no model can be written; raise --epochs, so that a test is run"
        )
    if best.iteration == 0:
        _tell(listeners, _UNTRAINED_IS_BEST)
    return _Trained(tuning, run, best.model, best.accuracy)


def _begun_slower(
    output: Path, tuning: FineTuning, run: Run, best: BestSnapshot, problem: str
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
    weights, where = run.weights, "the first weights"
    if best.iteration and best.model is not None:
        shutil.copyfile(best.model, folder / UNTRAINED)
        weights, where = (str((folder / UNTRAINED).resolve()),), "the best model so far"
    notice = f"the training diverged ({problem}); it begins again from {where} with a learning rate of {lower:g}"
    tuning = replace(tuning, slowed=True, notices=(*tuning.notices, notice))
    run = replace(run, weights=weights, solver=run.solver.with_fields(base_lr=lower))
    for path in (*folder.glob("*_iter_*"), folder / EVENTS, folder / RECORDS):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / ROUNDS, ignore_errors=True)
    run.save(folder, again=True)
    store(tuning)
    return tuning, run


def _losses_in_tests(model: Model) -> dict[str, float]:
    """Return the weights of the losses in tests, by the names of their tops."""
    built = model.layers(Phase.TEST)
    return {built.graph.blobs[edge]: weight for edge, weight in losses_of(built).items()}
