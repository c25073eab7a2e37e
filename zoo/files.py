"""Commands about Caffe's files: show them, compare them, format them and upgrade them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, ClassVar

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.difference import Difference, compare
from caffe_proto.errors import CaffeError, FileError, LimitError, UpgradeError, in_file
from caffe_proto.files import CaffeFile, Form, prototxt, read, write
from caffe_proto.limits import Limit
from caffe_proto.locations import located
from caffe_proto.summary import Summary, summarize
from caffe_proto.text.prototxt import reformat, reformat_file
from caffe_proto.upgrade.file import upgrade_file
from netdsl.errors import NetError
from netdsl.solver.events import Notice
from zoo.model_folder import is_model_folder
from zoo.names import read_named
from zoo.requests.events import Listen, work
from zoo.requests.files import DiffRequest, FormatRequest, ShowRequest, UpgradeRequest
from zoo.requests.request import RequestError, answers
from zoo.requests.results import LEFT_OUT, MERGED, KnowsData, OneOrMore

if TYPE_CHECKING:
    from netdsl.model.data_shapes import DataShape

_STDIN = "-"


@dataclass(frozen=True)
class FileSummary:
    """The contents of a file."""

    file: str
    summary: Summary = field(metadata=MERGED)


@dataclass(frozen=True)
class TopShape:
    """A top of a layer."""

    layer: str
    type: str
    top: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class FileShapes(KnowsData):
    """The shapes of all tops in each phase of a net, the shapes of its data, and the types with stubs."""

    file: str
    phases: Mapping[str, list[TopShape]]
    stubbed: list[str]


Shown = OneOrMore[FileSummary] | OneOrMore[FileShapes]


@answers(ShowRequest)
def show(request: ShowRequest, listen: Listen) -> Shown:
    """Return the contents of files, or the shapes of blobs in nets."""
    contents = {}
    with work(listen, "reading", len(request.files)) as advance:
        for file in request.files:
            _refuse_folder(Path(file))
            contents[file] = read_named(file, dialect=request.dialect, lenient=request.lenient)
            advance()
    if not request.shapes:
        with work(listen, "summarizing"):
            return OneOrMore(FileSummary(file, _summary_of(file, content)) for file, content in contents.items())
    with work(listen, "inferring shapes"):
        nets = OneOrMore(_shapes_of(file, content, request) for file, content in contents.items())
    request.warn_of_unused({name for net in nets for name in net.data}, listen)
    return nets


def _summary_of(file: str, content: CaffeFile[Message]) -> Summary:
    try:
        return summarize(content)
    except LimitError as problem:
        raise LimitError(in_file(file, problem)) from None


def _refuse_folder(path: Path) -> None:
    """Raise an error for a folder without a model. It names the command that shows data, since the folder may be a
    database."""
    if path.is_dir() and not is_model_folder(path):
        command = f"zoo data show {quote(str(path))}"
        raise FileError(f"{path}: this is a folder, not a file; name a file in it, or show its data: {command}")


def _shapes_of(file: str, content: CaffeFile[Message], request: ShowRequest) -> FileShapes:
    """Return the shapes of a net that was read from a file. Errors name the file."""
    # Imported here, since they import torch. That takes seconds, and `zoo show` without --shapes doesn't need it.
    from netdsl.model.model import Model, todays_form
    from netdsl.net.placeholder_layer import unavailable_types

    if not isinstance(content.message, pb.NetParameter):
        kind = content.message.DESCRIPTOR.name
        raise NetError(
            f"{content.path}: the file is a {kind}, not a net, so it has no shapes to infer; leave --shapes out"
        )
    try:
        net = todays_form(located(content.message, content.path, content.body))
        model = Model(net, items=request.assume, stages=request.stages)
        builts = [model.layers(phase, stub_unknown=request.stub_unknown) for phase in model.phases]
    except CaffeError as problem:
        raise type(problem)(in_file(content.path, problem)) from None
    phases: dict[str, list[TopShape]] = {}
    data: dict[str, DataShape] = {}
    for built in builts:
        pairs = ((node.layer, edge) for node in built.graph.nodes for edge in node.tops)
        phases[built.graph.phase.name] = [
            TopShape(layer.name, layer.type, built.graph.blobs[edge], built.shapes[edge]) for layer, edge in pairs
        ]
        Limit.SUMMARY_LINES.check(len(phases[built.graph.phase.name]), "a table of the shapes")
        data.update(model.data(built.graph.phase, stub_unknown=request.stub_unknown))
    stubbed = unavailable_types(built.graph for built in builts) if request.stub_unknown else []
    return FileShapes(file, phases, stubbed, data=data)


@dataclass(frozen=True)
class FileDifference:
    """The differences between two files."""

    says_too: ClassVar[tuple[str, ...]] = ("equal",)

    difference: Difference = field(metadata=MERGED)

    @property
    def equal(self) -> bool:
        """Whether the files are equal."""
        return not self.difference

    good = equal


@answers(DiffRequest)
def diff(request: DiffRequest, listen: Listen) -> FileDifference:
    """Return the differences between two files of the same kind."""

    def load(name: str) -> CaffeFile[Message]:
        file = read_named(name, dialect=request.dialect, lenient=request.lenient)
        return file if request.as_written else _upgraded(file)[0]

    files = load(request.first), load(request.second)
    kinds = [file.message.DESCRIPTOR.name for file in files]
    if kinds[0] != kinds[1]:
        what = f"{request.first} is a {kinds[0]}, {request.second} a {kinds[1]}"
        raise FileError(f"{what}; name two nets, two solvers, or two files of weights")
    return FileDifference(compare(*files))


@dataclass(frozen=True)
class FormattedFiles:
    """The files that changed or would change, and those that can't be read. Standard input is returned formatted."""

    changed: list[str]
    failed: list[str]
    is_check: bool = field(metadata=LEFT_OUT)
    text: bytes | None = field(metadata=LEFT_OUT)

    @property
    def good(self) -> bool:
        """Whether all files are formatted, or may be changed."""
        return not (self.is_check and self.changed)


@answers(FormatRequest)
def format_files(request: FormatRequest, listen: Listen) -> FormattedFiles:
    """Format prototxt files."""
    if request.files == (_STDIN,):
        data = sys.stdin.buffer.read()
        text = reformat(data, "<stdin>", lenient=request.lenient)
        return FormattedFiles([_STDIN] if text != data else [], [], request.check_only, text)
    changed, failed = [], []
    for file in request.files:
        try:
            if reformat_file(file, write=not request.check_only, lenient=request.lenient):
                changed.append(file)
        except CaffeError as problem:  # continue with the other files
            failed.append(file)
            listen(Notice(str(problem)))
    return FormattedFiles(changed, failed, request.check_only, None)


@dataclass(frozen=True)
class UpgradedFile:
    """The result of an upgrade: the file, the path written, and the changes. A result that wasn't written is kept as
    text, unless it is binary."""

    file: str
    output: str | None
    changes: tuple[str, ...]
    result: CaffeFile[Message] = field(metadata=LEFT_OUT)

    @property
    def text(self) -> bytes:
        """The result as a prototxt."""
        if self.result.form is not Form.TEXT:
            raise RequestError("a binary file can't be printed; name OUTPUT, or use --in-place")
        return prototxt(self.result).encode("utf-8", "surrogateescape")


@answers(UpgradeRequest)
def upgrade(request: UpgradeRequest, listen: Listen) -> UpgradedFile:
    """Upgrade a file to the current format, and write it if a path is given."""
    target = request.file if request.in_place else request.output
    result, changes = _upgraded(read(request.file, dialect=request.dialect, lenient=request.lenient))
    if target is not None:
        write(result, target)
    return UpgradedFile(request.file, target, changes, result)


def _upgraded(file: CaffeFile[Message]) -> tuple[CaffeFile[Message], tuple[str, ...]]:
    """Return a file in the current format, and the list of changes. Errors name the file."""
    try:
        return upgrade_file(file)
    except UpgradeError as problem:
        raise UpgradeError(in_file(file.path, problem)) from None
