"""What is asked of files of Caffe's: what they hold, what two differ in, and that they are brought into form."""

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
from caffe_proto.errors import CaffeError, FileError, UpgradeError, in_file
from caffe_proto.files import CaffeFile, Form, prototxt, read, write
from caffe_proto.locations import located
from caffe_proto.summary import Summary, summarise
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
    """What a file holds."""

    file: str
    summary: Summary = field(metadata=MERGED)


@dataclass(frozen=True)
class TopShape:
    """One top of one layer."""

    layer: str
    type: str
    top: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class FileShapes(KnowsData):
    """The shapes of all tops in each phase of a net, what is known of its data, and the types with stubs."""

    file: str
    phases: Mapping[str, list[TopShape]]
    stubbed: list[str]


Shown = OneOrMore[FileSummary] | OneOrMore[FileShapes]


@answers(ShowRequest)
def show(request: ShowRequest, listen: Listen) -> Shown:
    """Return what files hold, or the shapes of the blobs of nets."""
    contents = {}
    with work(listen, "reading", len(request.files)) as advance:
        for file in request.files:
            _refuse_folder(Path(file))
            contents[file] = read_named(file, dialect=request.dialect, lenient=request.lenient)
            advance()
    if not request.shapes:
        with work(listen, "summarising"):
            return OneOrMore(FileSummary(file, summarise(content)) for file, content in contents.items())
    with work(listen, "inferring shapes"):
        nets = OneOrMore(_shapes_of(file, content, request) for file, content in contents.items())
    request.tell_of_unused({name for net in nets for name in net.data}, listen)
    return nets


def _refuse_folder(path: Path) -> None:
    """Point those who name a folder that isn't a model's, and may be a database, at the command that shows data."""
    if path.is_dir() and not is_model_folder(path):
        command = f"zoo data show {quote(str(path))}"
        raise FileError(f"{path}: is a directory; name a file in it, or show its data: {command}")


def _shapes_of(file: str, content: CaffeFile[Message], request: ShowRequest) -> FileShapes:
    """Return the shapes of a net that was read from a file, which errors name."""
    # These import torch, which takes seconds and isn't needed by `zoo show` without shapes.
    from netdsl.model.model import Model, todays_form
    from netdsl.net.placeholder_layer import unavailable_types

    if not isinstance(content.message, pb.NetParameter):
        kind = content.message.DESCRIPTOR.name
        raise NetError(f"{content.path}: has no shapes to infer: it isn't a net, but a {kind}")
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
        data.update(model.data(built.graph.phase, stub_unknown=request.stub_unknown))
    stubbed = unavailable_types(built.graph for built in builts) if request.stub_unknown else []
    return FileShapes(file, phases, stubbed, data=data)


@dataclass(frozen=True)
class FileDifference:
    """What two files differ in."""

    says_too: ClassVar[tuple[str, ...]] = ("equal",)

    difference: Difference = field(metadata=MERGED)

    @property
    def equal(self) -> bool:
        """Whether they differ in nothing."""
        return not self.difference

    good = equal


@answers(DiffRequest)
def diff(request: DiffRequest, listen: Listen) -> FileDifference:
    """Return what two files of one kind differ in."""

    def load(name: str) -> CaffeFile[Message]:
        file = read_named(name, dialect=request.dialect, lenient=request.lenient)
        return file if request.as_written else _upgraded(file)[0]

    files = load(request.first), load(request.second)
    kinds = [file.message.DESCRIPTOR.name for file in files]
    if kinds[0] != kinds[1]:
        what = f"{request.first} is a {kinds[0]}, {request.second} a {kinds[1]}"
        raise FileError(f"{what}; only files of one kind can be compared")
    return FileDifference(compare(*files))


@dataclass(frozen=True)
class FormattedFiles:
    """The files that changed, or would, and those that can't be read; of standard input also its text in form."""

    changed: list[str]
    failed: list[str]
    is_check: bool = field(metadata=LEFT_OUT)
    text: bytes | None = field(metadata=LEFT_OUT)

    @property
    def good(self) -> bool:
        """Whether no file would change that may not."""
        return not (self.is_check and self.changed)


@answers(FormatRequest)
def format_files(request: FormatRequest, listen: Listen) -> FormattedFiles:
    """Bring prototxt files into one layout."""
    if request.files == (_STDIN,):
        data = sys.stdin.buffer.read()
        text = reformat(data, "<stdin>", lenient=request.lenient)
        return FormattedFiles([_STDIN] if text != data else [], [], request.check_only, text)
    changed, failed = [], []
    for file in request.files:
        try:
            if reformat_file(file, write=not request.check_only, lenient=request.lenient):
                changed.append(file)
        except CaffeError as problem:  # the other files are formatted all the same
            failed.append(file)
            listen(Notice(str(problem)))
    return FormattedFiles(changed, failed, request.check_only, None)


@dataclass(frozen=True)
class UpgradedFile:
    """A file, the one that was written, and the changes; a result that isn't written is text, or can't be printed."""

    file: str
    output: str | None
    changes: tuple[str, ...]
    result: CaffeFile[Message] = field(metadata=LEFT_OUT)

    @property
    def text(self) -> bytes:
        """The result as a prototxt."""
        if self.result.form is not Form.TEXT:
            raise RequestError("a binary file can't be printed: name OUTPUT, or use --in-place")
        return prototxt(self.result).encode("utf-8", "surrogateescape")


@answers(UpgradeRequest)
def upgrade(request: UpgradeRequest, listen: Listen) -> UpgradedFile:
    """Bring a file to today's form, and write it if somebody says where."""
    target = request.file if request.in_place else request.output
    result, changes = _upgraded(read(request.file, dialect=request.dialect, lenient=request.lenient))
    if target is not None:
        write(result, target)
    return UpgradedFile(request.file, target, changes, result)


def _upgraded(file: CaffeFile[Message]) -> tuple[CaffeFile[Message], tuple[str, ...]]:
    """Return a file in today's form, and the list of changes; errors name the file."""
    try:
        return upgrade_file(file)
    except UpgradeError as problem:
        raise UpgradeError(in_file(file.path, problem)) from None
