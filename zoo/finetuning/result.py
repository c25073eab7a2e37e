"""The result of a fine-tuning: a model's folder with nets, weights, classes, a card, and the ONNX form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import MissingExtraError
from caffe_proto.storage import file_hash, write_pieces
from converters.caffe import WEIGHTS, export_caffe
from converters.onnx import Metadata, export_onnx
from netdsl.data.sources.class_names import LABELS
from netdsl.errors import ConversionError
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.model.opening import add_weights
from netdsl.solver.settings import SolverSettings
from zoo.accuracy import MeasuredAccuracy, baselines_of
from zoo.card_input import image_input
from zoo.cards import CARD, Card, Result, Task, card_text
from zoo.finetuning.held_out import LabeledData
from zoo.finetuning.request import FineTuneRequest
from zoo.names import described_model
from zoo.report.page import REPORT, write_report
from zoo.report.recorded_run import read_run

ONNX, RUN = "model.onnx", "run"  # the run's folder, inside the model's folder


@dataclass(frozen=True)
class FineTuned:
    """The result: the files, the accuracy, and the largest differences of exports.

    The accuracy is that of the model on held-out items or, after a cross-validation, that of all folds.
    """

    folder: Path
    files: tuple[Path, ...]
    accuracy: float
    measured: MeasuredAccuracy  # the same accuracy with its interval and folds, compared with baselines
    differences: dict[str, float]  # by file, relative to the outputs' spread


def write_model_folder(
    request: FineTuneRequest,
    data: LabeledData,
    notes: Sequence[str],
    solver: SolverSettings,
    weights: Path,
    accuracy: float,
    cross_validated: MeasuredAccuracy | None,
    note: Callable[[str], object],
) -> FineTuned:
    """Write the best model as a folder. Each export is verified against the trained net.

    `accuracy` is that of the model on held-out items. `cross_validated` replaces it where the result is described.
    `note` receives the reason for each file that isn't written.
    """
    trained = add_weights(solver.net_to_train, [weights])
    model = deploy_model(trained, batch=1)
    folder = request.output
    exported = export_caffe(
        model,
        folder,
        train_val=trained.net,
        solver=_settings_for_net(solver, folder),
        verify=True,
        classes=data.classes,
    )
    differences, files = dict[str, float](), list(exported.files)
    if exported.agreement is not None:
        differences[WEIGHTS] = exported.agreement.difference
    try:
        report = export_onnx(model, folder / ONNX, metadata=Metadata(labels=data.classes), verify=True)
    except (ConversionError, MissingExtraError) as problem:
        note(f"there is no {ONNX}: {problem}")
    else:
        if report is not None:
            differences[ONNX] = report.difference
        files.append(folder / ONNX)
    held_out = MeasuredAccuracy.of(accuracy, data.test_count, baselines_of(data.train, data.tests), "--test-data")
    measured = cross_validated or held_out
    card = _card_of_result(request, data, [*notes, _accuracy_in_words(measured)], model, solver, measured)
    write_pieces(folder / CARD, [card_text(card).encode()])
    try:
        recorded = read_run(folder / RUN, solver, trained)
        write_report(replace(recorded, baselines=held_out.baselines), folder / REPORT)
    except MissingExtraError as problem:
        note(f"there is no {REPORT}: {problem}")
    else:
        files.append(folder / REPORT)
    return FineTuned(folder, (*files, folder / CARD), measured.accuracy, measured, differences)


def _settings_for_net(solver: SolverSettings, folder: Path) -> pb.SolverParameter:
    """Return the settings for the net in the same folder, with snapshots in the working directory."""
    return solver.with_fields(snapshot_prefix=folder.resolve().name).param


def _card_of_result(
    request: FineTuneRequest,
    data: LabeledData,
    notes: Sequence[str],
    model: Model,
    solver: SolverSettings,
    measured: MeasuredAccuracy,
) -> Card:
    base = described_model(Path(request.model), request.weights)
    card = base.card if base is not None else Card(Path(request.model).stem)
    tests = next(
        layer for layer in solver.net_to_train.net.layer if layer.include and layer.include[0].phase == pb.TEST
    )
    return Card(
        f"{card.name}, fine-tuned",
        summary=f"{card.name} that distinguishes {len(data.classes)} classes.",
        task=Task.CLASSIFICATION,
        input=image_input(tests.transform_param),
        labels=LABELS,
        parameters=sum(array.size for arrays in model.weights.values() for array in arrays),
        results=(Result("accuracy", f"{measured.accuracy:.2%}", _tested_items(measured), "zoo finetune"),),
        license=card.license,
        citation=card.citation,
        caffemodel=WEIGHTS,
        sha256=file_hash(request.output / WEIGHTS) or "",
        text=_card_text(request, data.classes, notes),
    )


def _tested_items(measured: MeasuredAccuracy) -> str:
    if measured.folds:
        return f"{measured.items:,} items, {len(measured.folds)}-fold cross-validation"
    return f"{measured.items:,} held-out items"


def _accuracy_in_words(measured: MeasuredAccuracy) -> str:
    if not measured.folds:
        return f"On held-out data, its accuracy is {measured.sentence} (95% interval)."
    scores = f"Accuracy on each fold: {measured.scores_of_folds}."
    return f"{measured.sentence} (95% interval). {scores} {measured.meaning_of_folds}"


def _card_text(request: FineTuneRequest, classes: Sequence[str], notes: Sequence[str]) -> str:
    names = ", ".join(classes[:20]) + (", ..." if len(classes) > 20 else "")
    about = " ".join([f"It distinguishes {names}.", *notes])
    made_by = "python\n" if request.command.startswith("finetune(") else "console\n$ "
    return f"{about}\n\nCreated with:\n\n```{made_by}{request.command}\n```"
