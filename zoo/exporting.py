"""Export of nets for `zoo export`: turn a net into its deployed form, rewrite it, and write it in another format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.addresses import address_in
from caffe_proto.errors import FileError, few, in_file
from caffe_proto.files import read_solver
from caffe_proto.storage import file_hash
from caffe_proto.upgrade import upgrade_solver
from converters.caffe import DEPLOY, WEIGHTS, export_caffe
from converters.caffe_training import CaffeTraining, training_for_caffe
from converters.integer_form import IntegerForm
from converters.lengths import length_conditions
from converters.onnx import Metadata, Report, export_onnx
from converters.onnx.quantization import Quantization
from converters.onnx.reader import ANY_READER
from converters.rewriting import Proof, Rewrites, preprocessing_of, rewrite
from converters.running import TOLERANCE, Agreement, Arrays, Work
from converters.targets.proving import prove_in_target, prove_quantized_in_target, reader_of
from converters.targets.rules import lacks
from converters.targets.session import INTEGER_TOLERANCE, needed_environment
from converters.targets.session import TOLERANCE as TARGET_TOLERANCE
from converters.targets.target import target_of
from converters.torch_program import export_torch
from netdsl import __version__
from netdsl.data.sources.class_names import model_labels, write_class_names
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.formats import named_model
from netdsl.model.model import Model, open_net
from netdsl.model.opening import open_model
from netdsl.model.weights.tensor_files import Precision
from netdsl.model.weights.torch_names import TensorMatch
from netdsl.net.graph import Phase
from netdsl.prediction.decoders.decoder import Decoder
from netdsl.storage.local_copies import with_addresses
from zoo.answers.answerer import AnswererRequest, input_size, stated_output
from zoo.answers.outputs import find_output
from zoo.calibrating import calibration_batches
from zoo.cards import Channels, card_cascade, card_text
from zoo.names import classes_of_model, described_model
from zoo.requests.events import Listen, work
from zoo.requests.exporting import ExportRequest
from zoo.requests.request import answers
from zoo.requests.results import KnowsData

_MOST_LAYERS = 3  # that one sentence names


@dataclass(frozen=True)
class ExportedFiles(KnowsData):
    """The written files, the shapes of the net's inputs, the proofs, and the layers matched to torch's tensors.

    `unproved` lists outputs that the proofs can't test, since they are constant. `notes` describe the parts of the
    training net and solver that Caffe doesn't support, and lengths that an ONNX model takes only in steps. `sizes` are
    the shapes of the inputs with which a model with free axes was proved. `quantized` is the effect of --int8.
    """

    files: tuple[Path, ...]
    inputs: dict[str, Shape]
    proofs: tuple[Proof, ...]
    names: tuple[TensorMatch, ...]
    unproved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sizes: tuple[Mapping[str, Shape], ...] = ()
    quantized: QuantizedModel | None = None


@dataclass(frozen=True)
class QuantizedModel:
    """The largest difference of a quantized model's outputs from those before, relative to their spread, on the items
    of its calibration. Both are `None` if they weren't compared."""

    difference: float | None
    items: int | None


@dataclass(frozen=True)
class _Written:
    files: tuple[Path, ...]
    difference: float | None
    unproved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    decoder: tuple[Decoder, float | None] | None = None  # with its difference, if verified
    in_runtime: tuple[Proof, ...] = ()
    sizes: tuple[Mapping[str, Shape], ...] = ()
    quantized: QuantizedModel | None = None


@answers(ExportRequest)
def export(request: ExportRequest, listen: Listen) -> ExportedFiles:
    """Export a net. After an error, nothing is written."""
    reported = partial(work, listen)
    runtime = None if request.runtime is None else target_of(request.runtime)
    if runtime is not None and runtime.program is not None and request.verify:
        needed_environment(runtime)
    with reported(f"reading {Path(request.net).name}"):
        trained = open_model(
            request.net,
            request.weights,
            deployed=True,
            dialect=request.dialect,
            shapes=request.assume,
            stages=request.stages,
        )
    try:
        model = deploy_model(trained, batch=request.batch)
        data = model.data(Phase.TEST, stub_unknown=True)
        quantization = _quantization(model, request, listen) if request.int8 else None
        model, proofs = rewrite(
            model, _rewrites(request), verify=request.verify, tolerance=request.tolerance, work=reported
        )
        writers: dict[str, Callable[[Model, Model, ExportRequest, Work], _Written]] = {
            "caffe": _to_caffe,
            "onnx": partial(_to_onnx, quantization=quantization),
            "torch": _to_torch,
        }
        written = writers[request.format](model, trained, request, reported)
    except NetError as problem:
        raise type(problem)(in_file(request.net, problem)) from None
    if written.difference is not None or not request.verify:
        proofs.append(Proof(f"as {request.format}", written.difference, _tolerance(request)))
    proofs += written.in_runtime
    notes = list(written.notes)
    if runtime is not None and runtime.program is None:
        notes.append(f"{runtime.title} doesn't run here, so the net was only compared with what it is known to take")
    if written.decoder is not None:
        decoder, difference = written.decoder
        proofs.append(Proof(f"decoder '{decoder.name}'", difference, _tolerance(request)))
    inputs = {
        top: tuple(shape.dim)
        for layer in model.net.layer
        for top, shape in zip(layer.top, layer.input_param.shape, strict=False)
    }
    return ExportedFiles(
        written.files,
        inputs,
        tuple(proofs),
        trained.names,
        written.unproved,
        tuple(notes),
        written.sizes,
        written.quantized,
        data=data,
    )


def _quantization(model: Model, request: ExportRequest, listen: Listen) -> Quantization:
    """Return the quantization of a deployed model. A rewritten net that prepares images itself gets them unprepared."""
    batches, rewrites = calibration_batches(request, listen), _rewrites(request)
    form = IntegerForm() if request.runtime is None else target_of(request.runtime).integers
    if not (rewrites.swap or rewrites.mean):
        return Quantization(batches, form)
    image, preprocessing = model.net.layer[0].top[0], preprocessing_of(model, rewrites)

    def unprepared() -> Iterator[Arrays]:
        return ({**inputs, image: preprocessing.undo(inputs[image])} for inputs in batches())

    return Quantization(unprepared, form)


def _rewrites(request: ExportRequest) -> Rewrites:
    precision = None if request.precision is None else Precision[request.precision.upper()]
    fold = request.fold or request.int8
    lacking = None if request.runtime is None else partial(lacks, target_of(request.runtime))
    return Rewrites(request.prune_to, fold, request.rgb, request.mean, request.fully_convolutional, precision, lacking)


def _to_caffe(model: Model, trained: Model, request: ExportRequest, reported: Work) -> _Written:
    folder, proofs = Path(request.output or f"{Path(request.net).stem}_caffe"), list[Proof]()
    classes = _classes(request)
    for path in (request.net, *request.weights, *([request.solver] if request.solver else [])):
        if _place(Path(path).parent) == _place(folder):
            raise FileError(
                f"{folder}: the folder contains '{Path(path).name}', which is being exported; name another "
                "folder with -o"
            )
    training = _training(trained, request)
    exported = export_caffe(
        model,
        folder,
        train_val=training.net if training else None,
        solver=training.solver if training else None,
        verify=request.verify,
        tolerance=_tolerance(request),
        classes=classes,
        databases=training.databases if training else (),
        accept=lambda staging: proofs.extend(
            _in_runtime(model, [staging / DEPLOY, staging / WEIGHTS], request, reported)
        ),
        work=reported,
    )
    written = _written(exported.files, exported.agreement, _notes(training) if training else ())
    return replace(written, in_runtime=tuple(proofs))


def _in_runtime(
    model: Model,
    files: Sequence[Path],
    request: ExportRequest,
    reported: Work,
    quantization: Quantization | None = None,
) -> list[Proof]:
    """Return the proof that a target computes the same outputs from written files, if one is named. A quantized model
    is compared with onnxruntime."""
    if request.runtime is None:
        return []
    target = target_of(request.runtime)
    usual = TARGET_TOLERANCE if quantization is None else INTEGER_TOLERANCE
    limit = usual if request.tolerance is None else request.tolerance
    if not request.verify and target.program is not None:
        return [Proof(f"in {target.name}", None, limit)]
    if quantization is None or target.program is None:
        found = prove_in_target(model, target, files, limit, reported)
    else:
        found = prove_quantized_in_target(model, target, files[0], quantization, limit, reported)
    form = "" if quantization is None else ", quantized"
    parts = [(f"in {target.name}{form}{f', {each.part}' if each.part else ''}", each.difference) for each in found]
    return [Proof(what, difference, limit) for what, difference in parts]


def _place(folder: Path) -> str:
    """Return the address of a folder whose files were copied from a storage or will be published there, or else its
    path without links."""
    shown = with_addresses(str(folder))
    return str(folder.resolve()) if address_in(shown) is None else shown


def _training(trained: Model, request: ExportRequest) -> CaffeTraining | None:
    if not (request.train_val or request.solver):
        return None
    solver = upgrade_solver(read_solver(request.solver).message).message if request.solver else None
    return training_for_caffe(_training_net(trained, request), solver, with_databases=request.data_lmdb)


def _training_net(trained: Model, request: ExportRequest) -> pb.NetParameter:
    """Return the training net: that of the named model or folder, if it differs from the deployed net, or else the
    exported net itself."""
    named = named_model(request.net)
    return trained.net if named.net == named.deployed else open_net(named.net, dialect=request.dialect).net


def _notes(training: CaffeTraining) -> tuple[str, ...]:
    advice = "export it with --data-lmdb, which writes the data in a form that Caffe reads"
    return (*(f"{note}; {advice}" for note in training.unread), *training.notes)


def _to_onnx(
    model: Model, trained: Model, request: ExportRequest, reported: Work, quantization: Quantization | None
) -> _Written:
    path, proofs = Path(request.output or f"{Path(request.net).stem}.onnx"), list[Proof]()
    classes = _classes(request)
    target = None if request.runtime is None else target_of(request.runtime)
    reader = ANY_READER if target is None else reader_of(target)
    decoder = _decoder(model, trained, request) if request.decode else None
    report = export_onnx(
        model,
        path,
        opset=target.opset if target is not None and request.opset is None else request.opset,
        metadata=Metadata(labels=classes, card=_card_text(trained, request)),
        verify=request.verify,
        tolerance=_tolerance(request),
        decoder=decoder,
        reader=reader,
        free=request.dynamic or None,
        quantization=quantization,
        accept=lambda staged: proofs.extend(_in_runtime(model, [staged], request, reported, quantization)),
        work=reported,
    )
    own = reader.layers_in(model.layers(Phase.TEST), sized=bool(request.dynamic))
    notes = [_operators_note(own, str(request.runtime))] if own else []
    if request.dynamic:
        notes += length_conditions(model.layers(Phase.TEST), request.dynamic)
    if report is not None and report.rounding:
        notes.append(
            f"for some random inputs, rounding alone changes the outputs by {report.rounding:.1e} of their spread; the "
            "comparison is for others"
        )
    if report is not None and report.unavoidable:
        notes.append(
            f"the outputs differ by {report.difference:.1e} of their spread, more than {report.tolerance:g}, but "
            f"rounding alone changes them by {report.unavoidable:.1e}"
        )
    changed = request.rgb or request.mean or request.prune_to or request.decode
    if request.int8 and request.calibrate is None and not changed:  # the net's test data are data for the model
        notes.append(f"the score of the quantized model: zoo test {request.net} --with {path}")
    quantized = None if quantization is None else _quantized(report)
    written = replace(
        _written(_with_labels(path, classes), report, tuple(notes)),
        in_runtime=tuple(proofs),
        sizes=report.shapes if report is not None and request.dynamic else (),
        quantized=quantized,
    )
    return written if decoder is None else replace(written, decoder=(decoder, report.decoded if report else None))


def _operators_note(layers: Sequence[str], target: str) -> str:
    named = few([f"'{name}'" for name in layers], _MOST_LAYERS)
    what = f"layers {named} are operators" if len(layers) > 1 else f"layer {named} is an operator"
    return f"{what} that ONNX doesn't define, so other programs than {target} may not run the file"


def _quantized(report: Report | None) -> QuantizedModel:
    if report is None or report.quantized is None:
        return QuantizedModel(None, None)
    return QuantizedModel(report.quantized.difference, report.quantized.items)


def _card_text(trained: Model, request: ExportRequest) -> str:
    """Return the card for the exported model: its own card as far as it still holds, and the files that it is from.
    It is empty for a net without a card."""
    named = described_model(Path(request.net), request.weights)
    if named is None:
        return ""
    card, paths = named.card, {Path(path) for path in (request.net, *request.weights)} | set(trained.sources.values())
    hashes = {path.name: file_hash(path) for path in sorted(paths) if path.is_file()}
    files = ", ".join(f"{name} (SHA-256 {digest})" for name, digest in hashes.items())
    if card.input is not None:
        swapped = {Channels.BGR: Channels.RGB, Channels.RGB: Channels.BGR}
        channels = swapped.get(card.input.channels, card.input.channels) if request.rgb else card.input.channels
        prepared = replace(card.input, channels=channels, mean=() if request.mean else card.input.mean)
        card = replace(card, input=prepared)
    if request.prune_to:
        card = replace(card, task=None, output={}, labels="", classes=(), results=())
    if request.decode:
        card = replace(card, output={})
    origin = f" from {files}" if files else ""
    return card_text(replace(card, text=f"Exported by netdsl {__version__}{origin}."))


def _decoder(model: Model, trained: Model, request: ExportRequest) -> Decoder:
    """Return the decoder that the card names, or that is recognized by the net's outputs."""
    named = described_model(Path(request.net), request.weights)
    if named is not None and card_cascade(named.card, named.origin) is not None:
        raise NetError(
            "a cascade cuts images between its nets, so it can't be one ONNX model; leave --decode out to export the "
            "nets one by one"
        )
    stated = stated_output(AnswererRequest(request.net, request.weights), named, trained)
    decoder = find_output(model, stated, input_size(model)).decoder
    if decoder is None:
        raise NetError(
            "no decoder is known for the net's outputs; name one in the field `output` of a card, or leave --decode "
            "out if the net's own layers compute the answer"
        )
    return decoder


def _to_torch(model: Model, trained: Model, request: ExportRequest, reported: Work) -> _Written:
    path = Path(request.output or f"{Path(request.net).stem}.pt2")
    classes = _classes(request)
    agreement = export_torch(model, path, verify=request.verify, tolerance=_tolerance(request), work=reported)
    return _written(_with_labels(path, classes), agreement)


def _written(files: tuple[Path, ...], proof: Agreement | Report | None, notes: tuple[str, ...] = ()) -> _Written:
    if proof is None:
        return _Written(files, None, notes=notes)
    return _Written(files, proof.difference, proof.uninformative, notes)


def _classes(request: ExportRequest) -> tuple[str, ...]:
    """Return the class names in the exported model's folder, or nothing if the export ends before the predictions."""
    if request.prune_to:
        return ()
    return classes_of_model(request.net, request.weights)


def _with_labels(path: Path, classes: Sequence[str]) -> tuple[Path, ...]:
    """Return the files of a model. If there are class names, write them and add their file."""
    if not classes:
        return (path,)
    write_class_names(classes, model_labels(path))
    return path, model_labels(path)


def _tolerance(request: ExportRequest) -> float:
    """Return the tolerance of the target format, whose operations run in another order."""
    return TOLERANCE if request.tolerance is None else request.tolerance
