"""Checks whether a net would work, from parsing to a dry run, and whether its data exist."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
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

    `parsed` is false for a template or a broken file. `reason` begins with the place in the file. `needs_code` contains
    the private Python layers, if only they keep the net from being resolved. `assumed` contains shapes, without the
    batch, that the net works with but doesn't state. `stubbed` contains the types of layers that placeholders replace.
    `unread` contains the reasons why layers can't read their data; the net can still be resolved. `skipped` contains a
    sentence for each field or value that the schema doesn't have, which may be a typo. `batch` is the number that the
    batch must be a multiple of, if the net doesn't state its batch. `doubts` describes settings that mean different
    things in different forks of Caffe. `caffe_notes` names layers that work here, but that Caffe refuses or computes
    differently.
    """

    says_too: ClassVar[tuple[str, ...]] = ("assumed",)

    file: str
    parsed: bool = False
    resolved: bool = False
    ran: bool | None = None  # None if it wasn't requested, or the net isn't resolved
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
        """The shapes, without the batch, that neither the net nor its data state."""
        return assumed_items(self.data)

    @property
    def good(self) -> bool:
        """Whether the net would work, as far as it was checked."""
        return self.resolved and self.ran is not False and not self.skipped

    def assumptions(self) -> list[str]:
        """Return the assumed shape of each blob in `assumed`, and whether it is a guess."""
        return [
            f"{name} assumed to be {dimensions(item)}{' (a guess)' if self.data[name].known is Known.GUESSED else ''}"
            for name, item in self.assumed.items()
        ]


@dataclass(frozen=True)
class CheckSettings:
    """Settings of a check. `assume` contains shapes, without the batch, of blobs that data layers produce."""

    assume: Items = field(default_factory=dict)
    stages: Sequence[str] = ()
    stub_unknown: bool = False
    dialect: str | None = None  # the dialect in which the net is opened


_NO_SETTINGS = CheckSettings()


def check_net(path: str | Path, settings: CheckSettings = _NO_SETTINGS, *, run: bool = False) -> Finding:
    """Check one file. The finding contains all its problems."""
    finding = Finding(str(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, finding.skipped = _open_model(path, settings)
            finding.parsed = True
            graphs = model.graphs
            if not graphs:
                raise NetError("the net has no layers; add layers, or name the file that contains them")
            model = replace(model, net=without_files(model.net))
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
    except (
        Exception
    ) as problem:  # an error in a user's layer, a bug, or a lack of memory mustn't stop other files from being checked
        what = user_code_problem(problem) or memory_shortage(problem)
        finding.reason = f"{path}: {what or f'{type(problem).__name__}: {first_line(problem)}'}"
    return finding


def _open_model(path: str | Path, settings: CheckSettings) -> tuple[Model, list[str]]:
    """Return the model of a file, and the warnings about fields that the schema doesn't have."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = open_net(path, dialect=settings.dialect, lenient=True, items=settings.assume)
    skipped = [str(warning.message) for warning in caught if issubclass(warning.category, UnknownFieldWarning)]
    return replace(model, stages=settings.stages), skipped


def _check_layers(model: Model, settings: CheckSettings, finding: Finding, graphs: Sequence[Graph]) -> None:
    """Build the layers, and add notes about them to the finding."""
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
    """Return a sentence for each setting that means something else in some dialects that the net may be in."""
    doubts = dict.fromkeys(doubt for built in builts for doubt in doubts_of(built))
    return [
        f"{doubt.sentence}; if it is {' or '.join(doubt.dialects)}, name the dialect with --dialect" for doubt in doubts
    ]


def _distinct(builts: Sequence[Built]) -> list[Built]:
    """Return the nets to run. A net with the same layers in both phases, such as a deploy net, runs once."""
    layers = {tuple((node.layer.name, node.layer.type) for node in built.graph.nodes): built for built in builts[::-1]}
    return list(layers.values())[::-1]


def without_files(net: pb.NetParameter) -> pb.NetParameter:
    """Return a net without the names of files, such as of means or image sizes, which exist only where the net is
    used."""
    made = copy_of(net)
    for layer in made.layer:
        for settings in (value for _, value in layer.ListFields() if isinstance(value, Message)):
            for setting, _ in settings.ListFields():
                if setting.name.endswith("_file"):
                    settings.ClearField(setting.name)
    return made


def code_needed(names: Collection[str]) -> str:
    """Return the sentence about Python layers that must be allowed before their net can be checked."""
    modules = ",".join(sorted({name.rpartition(".")[0] for name in names}))
    code = f"the net needs the Python code of {', '.join(names)}"
    return f"{code}; if you trust it, give --allow-python {modules}"


def _private(graphs: Sequence[Graph], settings: CheckSettings) -> list[str]:
    """Return the Python layers whose code isn't available here, if all other types are known."""
    if settings.stub_unknown or any(unknown_types(graph) for graph in graphs):
        return []
    return unavailable_types(graphs)
