"""Lint: checks of whether a net would work, from parsing to a dry run, and whether its data are there."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, UnknownFieldWarning, UpgradeError, in_file
from netdsl.checking.caffe_notes import caffe_notes
from netdsl.checking.data_access import unreadable_data
from netdsl.checking.dry_run import dry_run
from netdsl.checking.shape_guesses import Shapes, assume, batch_guesses, shape_guesses, state_batches
from netdsl.errors import NetError, UnknownLayerError, first_line, memory_shortage, user_code_problem
from netdsl.layer import Shape
from netdsl.net.build import Built, build, check_fillers, doubts_of, unknown_types
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.graph import Graph, resolve_all
from netdsl.net.placeholder_layer import describe_type, is_unavailable
from netdsl.open_net import open_net


@dataclass
class Finding:
    """The result of checking one file.

    A template or a broken file isn't parsed. `reason` begins with the place in the file. `needs_code` has the private
    Python layers that alone keep the net from being resolved. `assumed` has shapes, without the batch, that the net
    doesn't state and with which it works. `stubbed` has the types of layers that placeholders stand for. `unread` says
    of layers why their data can't be read; the net itself may be resolved all the same. `skipped` has a sentence for
    each field or value that no schema has, which may be a typo. `batch` has the number of which the batch must be a
    multiple, if the net doesn't say it. `doubts` say what the net means in one fork of Caffe and what in another, and
    `caffe_notes` which layers work here that Caffe refuses, or runs with other numbers.
    """

    file: str
    parsed: bool = False
    resolved: bool = False
    ran: bool | None = None  # None: not requested, or not resolved
    reason: str = ""
    phases: list[str] = field(default_factory=list)
    needs_code: list[str] = field(default_factory=list)
    assumed: dict[str, Shape] = field(default_factory=dict)
    stubbed: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    batch: int | None = None
    doubts: list[str] = field(default_factory=list)
    caffe_notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CheckSettings:
    """Settings of a check. `assume` has shapes, without the batch, of blobs that data layers bring."""

    assume: Shapes = field(default_factory=dict)
    stages: Sequence[str] = ()
    stub_unknown: bool = False


@dataclass(frozen=True)
class ResolvedNet:
    """A net in each of its phases, the shapes that were assumed of its data, and the types with placeholders.

    `batch` has the number whose multiples fit, if the net doesn't say its batch and not any fits.
    """

    builts: list[Built]
    assumed: dict[str, Shape]
    stubbed: list[str]
    batch: int | None = None


_NO_SETTINGS = CheckSettings()


def check_net(path: str | Path, settings: CheckSettings = _NO_SETTINGS, *, run: bool = False) -> Finding:
    """Check one file. All its problems are in the finding."""
    finding = Finding(str(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net, finding.skipped = _open(path)
            finding.parsed = True
            data_graphs, _ = _graphs(net, settings, {})
            _clear_files(net)
            _check(net, settings, finding, data_graphs, run=run)
            finding.unread = unreadable_data(data_graphs)
    except CaffeError as problem:
        finding.parsed = finding.parsed or isinstance(problem, UpgradeError)
        finding.reason = in_file(path, problem)
    except Exception as problem:  # of a user's layer, a mistake of ours, or no memory: other files are still checked
        what = user_code_problem(problem) or memory_shortage(problem)
        finding.reason = f"{path}: {what or f'{type(problem).__name__}: {first_line(problem)}'}"
    return finding


def _open(path: str | Path) -> tuple[pb.NetParameter, list[str]]:
    """The net of a file, and what is said of its fields that no schema has."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = open_net(path, lenient=True).net
    return net, [str(warning.message) for warning in caught if issubclass(warning.category, UnknownFieldWarning)]


def _check(
    net: pb.NetParameter, settings: CheckSettings, finding: Finding, graphs: Sequence[Graph], *, run: bool
) -> None:
    finding.needs_code = _private(net, settings)
    resolved = resolve_shapes(net, settings)
    for built in resolved.builts:
        check_fillers(built)
    finding.resolved, finding.needs_code = True, []
    finding.phases = [built.graph.phase.name for built in resolved.builts]
    finding.doubts = _doubts(resolved.builts)
    finding.assumed, finding.stubbed, finding.batch = resolved.assumed, resolved.stubbed, resolved.batch
    notes = [*caffe_notes(graphs, resolved.builts), *_memory_notes(resolved.builts)]
    finding.caffe_notes = [note if note.startswith(finding.file) else f"{finding.file}: {note}" for note in notes]
    if run:
        finding.ran = False
        for built in _distinct(resolved.builts):
            dry_run(built)
        finding.ran = True


def _memory_notes(builts: Sequence[Built]) -> list[str]:
    return list(dict.fromkeys(note for built in builts for note in memory_notes(built)))


def _doubts(builts: Sequence[Built]) -> list[str]:
    """A sentence for each thing that means something else in some dialects which the net may be in."""
    doubts = dict.fromkeys(doubt for built in builts for doubt in doubts_of(built))
    return [f"{doubt.sentence}; if it is {' or '.join(doubt.dialects)}, say so with --dialect" for doubt in doubts]


def _distinct(builts: Sequence[Built]) -> list[Built]:
    """The nets to run: one with the same layers in both phases, as a deploy net, is run once."""
    layers = {tuple((node.layer.name, node.layer.type) for node in built.graph.nodes): built for built in builts[::-1]}
    return list(layers.values())[::-1]


def _clear_files(net: pb.NetParameter) -> None:
    """Remove the names of files, such as of means or of image sizes, which exist only where the net is used."""
    for layer in net.layer:
        for settings in (value for _, value in layer.ListFields() if isinstance(value, Message)):
            for setting, _ in settings.ListFields():
                if setting.name.endswith("_file"):
                    settings.ClearField(setting.name)


def _private(net: pb.NetParameter, settings: CheckSettings) -> list[str]:
    """The Python layers whose code isn't here, if all other types are known."""
    graphs, _ = _graphs(net, settings, {})
    if settings.stub_unknown or any(unknown_types(graph) for graph in graphs):
        return []
    return sorted(_unavailable(graphs))


def _unavailable(graphs: Iterable[Graph]) -> set[str]:
    """The types that are unknown, and the Python layers whose code isn't allowed to run."""
    return {describe_type(node.layer) for graph in graphs for node in graph.nodes if is_unavailable(node.layer)}


def resolve_shapes(net: pb.NetParameter, settings: CheckSettings = _NO_SETTINGS) -> ResolvedNet:
    """Resolve all shapes of a net in today's form.

    If they don't fit and a data layer doesn't state its shapes, typical ones are tried. If none of them fits either,
    the error is that of the net as it is; it says if another batch would do.
    """
    try:
        return _build(net, settings, settings.assume)
    except UnknownLayerError:
        raise
    except NetError as problem:
        if _private(net, settings):
            raise
        resolved = _with_guesses(net, settings) or _with_another_batch(net, settings)
        if resolved is None:
            raise
        if resolved.batch is None or not state_batches(_copy(net), resolved.batch):
            return resolved
        raise type(problem)(f"{problem}; with a batch that is a multiple of {resolved.batch} it fits") from problem


def _with_guesses(net: pb.NetParameter, settings: CheckSettings, batch: int | None = None) -> ResolvedNet | None:
    """The net with the first of the typical shapes that fits, if one does."""
    for graph in _graphs(net, settings, settings.assume)[0]:
        for guess in shape_guesses(graph, stub_unknown=settings.stub_unknown):
            with suppress(NetError):
                return _build(net, settings, {**guess, **settings.assume}, batch)
    return None


def _with_another_batch(net: pb.NetParameter, settings: CheckSettings) -> ResolvedNet | None:
    """The net with the smallest batch that fits, if one does and its double does, too."""
    for batch in batch_guesses(net):
        resolved = None
        with suppress(NetError):
            resolved = _build(net, settings, settings.assume, batch)
        resolved = resolved or _with_guesses(net, settings, batch)
        if resolved is not None:
            with suppress(NetError):
                _build(net, settings, {**resolved.assumed, **settings.assume}, 2 * batch)
                return replace(resolved, batch=batch)
    return None


def _copy(net: pb.NetParameter) -> pb.NetParameter:
    copy = pb.NetParameter()
    copy.CopyFrom(net)
    return copy


def _build(net: pb.NetParameter, settings: CheckSettings, shapes: Shapes, batch: int | None = None) -> ResolvedNet:
    graphs, assumed = _graphs(net, settings, shapes, batch)
    stubbed = _unavailable(graphs) if settings.stub_unknown else set()
    builts = [build(graph, stub_unknown=settings.stub_unknown) for graph in graphs]
    return ResolvedNet(builts, {name: shapes[name] for name in sorted(assumed)}, sorted(stubbed))


def _graphs(
    net: pb.NetParameter, settings: CheckSettings, shapes: Shapes, batch: int | None = None
) -> tuple[list[Graph], set[str]]:
    """The graphs of a net's phases, and the names of the shapes that were assumed."""
    copy = _copy(net)
    assumed = assume(copy, shapes)
    if batch is not None:
        state_batches(copy, batch)
    graphs = resolve_all(copy, stages=settings.stages)
    if not graphs:
        raise NetError("the net has no layers")
    return graphs, assumed
