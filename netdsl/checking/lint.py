"""Lint: checks of whether a net would work, from parsing to a dry run, and whether its data are there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import CaffeError, UnknownFieldWarning, UpgradeError, in_file
from netdsl.checking.caffe_notes import caffe_notes
from netdsl.checking.data_access import unreadable_data
from netdsl.checking.dry_run import dry_run
from netdsl.errors import NetError, first_line, memory_shortage, user_code_problem
from netdsl.layer import Shape
from netdsl.model.data_shapes import DataShape, Items, Known, assumed_items, dimensions
from netdsl.model.model import Model, open_net
from netdsl.net.build import Built, check_fillers, doubts_of, unknown_types
from netdsl.net.caffe_memory import memory_notes
from netdsl.net.graph import Graph, Phase
from netdsl.net.placeholder_layer import unavailable_types


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

    says_too: ClassVar[tuple[str, ...]] = ("assumed",)

    file: str
    parsed: bool = False
    resolved: bool = False
    ran: bool | None = None  # None: not requested, or not resolved
    reason: str = ""
    phases: list[str] = field(default_factory=list)
    needs_code: list[str] = field(default_factory=list)
    data: dict[str, DataShape] = field(default_factory=dict)
    stubbed: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    batch: int | None = None
    doubts: list[str] = field(default_factory=list)
    caffe_notes: list[str] = field(default_factory=list)

    @property
    def assumed(self) -> dict[str, Shape]:
        """Shapes, without the batch, that neither the net nor its data say."""
        return assumed_items(self.data)

    @property
    def good(self) -> bool:
        """Whether the net would work, as far as was looked."""
        return self.resolved and self.ran is not False and not self.skipped

    def assumptions(self) -> list[str]:
        """Return what a blob is taken as, and whether that is a guess, for each of `assumed`."""
        return [
            f"{name} taken as {dimensions(item)}{' (a guess)' if self.data[name].known is Known.GUESSED else ''}"
            for name, item in self.assumed.items()
        ]


@dataclass(frozen=True)
class CheckSettings:
    """Settings of a check. `assume` has shapes, without the batch, of blobs that data layers bring."""

    assume: Items = field(default_factory=dict)
    stages: Sequence[str] = ()
    stub_unknown: bool = False
    dialect: str | None = None  # of a net that is opened


_NO_SETTINGS = CheckSettings()


def check_net(path: str | Path, settings: CheckSettings = _NO_SETTINGS, *, run: bool = False) -> Finding:
    """Check one file. All its problems are in the finding."""
    finding = Finding(str(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, finding.skipped = _open_model(path, settings)
            finding.parsed = True
            graphs = model.graphs
            if not graphs:
                raise NetError("the net has no layers")
            model = replace(model, net=_without_files(model.net))
            _check_layers(model, settings, finding, graphs)
            if run:
                finding.ran = False
                for built in _distinct([_layers(model, phase, settings) for phase in model.phases]):
                    dry_run(built)
                finding.ran = True
            finding.unread = unreadable_data(graphs, model.read)
    except CaffeError as problem:
        finding.parsed = finding.parsed or isinstance(problem, UpgradeError)
        finding.reason = in_file(path, problem)
    except Exception as problem:  # of a user's layer, a mistake of ours, or no memory: other files are still checked
        what = user_code_problem(problem) or memory_shortage(problem)
        finding.reason = f"{path}: {what or f'{type(problem).__name__}: {first_line(problem)}'}"
    return finding


def _open_model(path: str | Path, settings: CheckSettings) -> tuple[Model, list[str]]:
    """Return the model of a file, and what is said of its fields that no schema has."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = open_net(path, dialect=settings.dialect, lenient=True)
    skipped = [str(warning.message) for warning in caught if issubclass(warning.category, UnknownFieldWarning)]
    return replace(model, items=settings.assume, stages=settings.stages), skipped


def _check_layers(model: Model, settings: CheckSettings, finding: Finding, graphs: Sequence[Graph]) -> None:
    """Build the layers, and note what there is to say of them."""
    finding.needs_code = _private(graphs, settings)
    builts = [_layers(model, phase, settings) for phase in model.phases]
    for built in builts:
        check_fillers(built)
    finding.resolved, finding.needs_code = True, []
    finding.phases = [phase.name for phase in model.phases]
    finding.doubts = _doubts(builts)
    finding.stubbed = unavailable_types(graphs) if settings.stub_unknown else []
    for phase in model.phases:
        settled = model.settled(phase, stub_unknown=settings.stub_unknown)
        finding.data.update(settled.data)
        finding.batch = finding.batch or settled.batch
    notes = [*caffe_notes(graphs, builts), *_memory_notes(builts)]
    finding.caffe_notes = [note if note.startswith(finding.file) else f"{finding.file}: {note}" for note in notes]


def _layers(model: Model, phase: Phase, settings: CheckSettings) -> Built:
    return model.layers(phase, stub_unknown=settings.stub_unknown)


def _memory_notes(builts: Sequence[Built]) -> list[str]:
    return list(dict.fromkeys(note for built in builts for note in memory_notes(built)))


def _doubts(builts: Sequence[Built]) -> list[str]:
    """Return a sentence for each thing that means something else in some dialects which the net may be in."""
    doubts = dict.fromkeys(doubt for built in builts for doubt in doubts_of(built))
    return [f"{doubt.sentence}; if it is {' or '.join(doubt.dialects)}, say so with --dialect" for doubt in doubts]


def _distinct(builts: Sequence[Built]) -> list[Built]:
    """Return the nets to run: one with the same layers in both phases, as a deploy net, is run once."""
    layers = {tuple((node.layer.name, node.layer.type) for node in built.graph.nodes): built for built in builts[::-1]}
    return list(layers.values())[::-1]


def _without_files(net: pb.NetParameter) -> pb.NetParameter:
    """Return a net without the names of files, such as of means or of image sizes, which exist only where the net is
    used."""
    made = copy_of(net)
    for layer in made.layer:
        for settings in (value for _, value in layer.ListFields() if isinstance(value, Message)):
            for setting, _ in settings.ListFields():
                if setting.name.endswith("_file"):
                    settings.ClearField(setting.name)
    return made


def _private(graphs: Sequence[Graph], settings: CheckSettings) -> list[str]:
    """Return the Python layers whose code isn't here, if all other types are known."""
    if settings.stub_unknown or any(unknown_types(graph) for graph in graphs):
        return []
    return unavailable_types(graphs)
