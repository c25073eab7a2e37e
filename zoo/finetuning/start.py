"""Starts a fine-tuning: prepares the net, its data, its new layers and its learning rate, and stores all of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import msgspec
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import FileError, in_file
from caffe_proto.storage import PRIVATE, create_folder, write_pieces
from netdsl.data.sources.open_source import parse_source
from netdsl.data.sources.source_name import Content
from netdsl.data.transforms.image_settings import describe
from netdsl.distributed.run import Run, exists
from netdsl.distributed.run_lease import is_of_lease
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import NetError, WeightsError
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.model.weights.writing import write_weights
from netdsl.solver.length import Intervals
from netdsl.solver.settings import SolverSettings
from netdsl.solver.trainable_net import Compute
from netdsl.training import job
from netdsl.training.backends import Backend
from netdsl.tuning.beginning import FittedHeads, find_rate, fitted_heads
from netdsl.tuning.new_head import (
    DataLayers,
    heads_of,
    tunable_model,
    with_head_rates,
    with_standardized_images,
)
from zoo.accuracy import MeasuredAccuracy
from zoo.cards import Channels
from zoo.finetuning.best_snapshot import UNTRAINED
from zoo.finetuning.cross_validation import FOLDS, divide_into_folds
from zoo.finetuning.held_out import LabeledData, hold_out
from zoo.finetuning.image_preparation import MEAN, PreparedModel, prepare_images
from zoo.finetuning.request import (
    FineTuneRequest,
    Recipe,
    fixes_statistics,
    solver_settings,
    test_batch,
    train_batch,
)
from zoo.finetuning.result import RUN
from zoo.names import described_model, settings_of, weights_advice
from zoo.report.tuned_model import REQUEST
from zoo.requests.training import check_folds


@dataclass(frozen=True)
class FineTuning:
    """A fine-tuning that was started. It is stored next to the run, so that it can be resumed and finished."""

    request: FineTuneRequest
    data: LabeledData
    heads: dict[str, str]  # the new names of the replaced layers, by their old names
    frozen: tuple[str, ...]  # layers that keep their weights
    preparation: str  # a description of how training images are prepared
    notes: tuple[str, ...] = ()  # other remarks about images
    notices: tuple[str, ...] = ()  # the choices that were made for this model and these data
    slowed: bool = False  # whether the training diverged, and began again with a lower learning rate
    cross_validated: MeasuredAccuracy | None = None  # if folds were requested, and all of them are tested


@contextmanager
def holding(
    output: Path, backend: Backend, *, resumes: bool, note: Callable[[str], object] = lambda text: None
) -> Iterator[None]:
    """Hold the lease of a fine-tuning, with all its folds, inside the context. A fine-tuning that `resumes` exists."""
    if resumes and backend.supervises:  # these checks come first, so that other folders stay untouched
        load(output)
    elif backend.supervises and not (output / RUN).is_dir():
        _refuse_files(output)
    with job.holding(output / RUN, backend, note) as lease:
        if lease is not None and lease.taken_over and not exists(output / RUN):
            _remove_begun(output)
        yield


def begin(
    request: FineTuneRequest,
    backend: Backend,
    devices: Sequence[torch.device],
    *,
    progress: Callable[[int], object] = lambda done: None,
) -> tuple[FineTuning, Run]:
    """Prepare and start the run, in the folder of the new model. Data for a cross-validation are divided."""
    check_folds(request.folds, request.tests)
    _refuse_files(request.output)
    run_folder = request.output / RUN
    create_folder(request.output)
    create_folder(run_folder, PRIVATE)
    try:
        divide_into_folds(request, progress)
        run, tuning, model = _prepared_run(request, backend, devices, run_folder, progress)
        store(tuning)
        return tuning, job.begin(run, run_folder, backend, [model])
    except BaseException:
        shutil.rmtree(request.output, ignore_errors=True)  # so that the user can repeat the same command
        raise


def _remove_begun(output: Path) -> None:
    """Remove what a process wrote that was killed before it had begun a fine-tuning, so that the command can be
    repeated."""
    paths = [output / FOLDS, output / REQUEST, output / MEAN, *(output / RUN).iterdir()]
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif not is_of_lease(path):
            path.unlink(missing_ok=True)


def _refuse_files(output: Path) -> None:
    """Raise a `FileError` if a folder contains anything besides the lease of a new fine-tuning."""
    paths = list(output.iterdir()) if output.exists() else []
    if [path.name for path in paths] == [RUN] and paths[0].is_dir():
        paths = [path for path in paths[0].iterdir() if not is_of_lease(path)]
    if paths:
        raise FileError(
            f"{output}: the folder isn't empty; continue its fine-tuning with --resume, or name another folder with -o"
        )


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
    tuning = replace(tuning, notices=(*tuning.notices, *heads.notices, notice))
    due = Intervals(epoch.iterations, epoch.iterations)
    _store_untrained(tunable, weights, heads, run_folder)
    return replace(run, solver=solver, due=due), tuning, weights


def _store_untrained(tunable: Model, weights: Model, heads: FittedHeads, run_folder: Path) -> None:
    """Write the model before the training, if its new heads are fitted, with the layers of the net to train only."""
    fitted = heads.with_probabilities
    if fitted is not None:
        own = {layer.name for layer in tunable.net.layer}
        others = {name: blobs for name, blobs in weights.weights.items() if name in own}
        write_weights({**others, **fitted}, run_folder / UNTRAINED)


def _with_rate(solver: SolverSettings, recipe: Recipe, weights: Model, compute: Compute) -> tuple[SolverSettings, str]:
    """Return the solver with the learning rate to begin with, and a notice about the rate."""
    if recipe.base_lr is not None:
        return solver, f"the learning rate begins at {recipe.base_lr:g}, as --base-lr says"
    found = find_rate(solver, [weights], compute)
    words = f"found by a range test of {found.iterations} iterations; --base-lr chooses another"
    return solver.with_fields(base_lr=found.rate), f"the learning rate begins at {found.rate:g}, {words}"


def _tunable(
    model: Model, prepared: PreparedModel, request: FineTuneRequest, data: LabeledData, batch: int, *, fixed: bool
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
    tuning = stored(output)
    if not exists(output / RUN):
        raise FileError(f"{output / RUN}: the run is missing; remove {output}, and start the fine-tuning again")
    return replace(tuning, request=replace(tuning.request, output=output)), Run.load(output / RUN)


def stored(output: Path) -> FineTuning:
    """Return the fine-tuning that was started in a folder."""
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


def store(tuning: FineTuning) -> None:
    """Write a fine-tuning to its folder, so that it can be resumed and finished."""
    kept = msgspec.json.format(msgspec.json.encode(tuning, enc_hook=str), indent=1)
    write_pieces(tuning.request.output / REQUEST, [kept])
