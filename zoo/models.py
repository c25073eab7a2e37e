"""Models: finding them by name, writing them as files, pulling and pushing them, and maintaining the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, FileError, in_file
from caffe_proto.storage import write_pieces
from netdsl.solver.events import Notice
from netdsl.storage.local_copies import remove_unused_copies
from zoo.cards import Card, parse_card
from zoo.catalogue import CatalogueModel
from zoo.names import WeightsPlace, all_cards, card_of, find_model, weights_place
from zoo.names import store as store_here
from zoo.requests.events import Listen, work
from zoo.requests.models import (
    CardRequest,
    FetchRequest,
    ImportRequest,
    ListRequest,
    PushRequest,
    StoreCheckRequest,
    StoreListRequest,
    StorePathRequest,
    StorePruneRequest,
)
from zoo.requests.request import answers
from zoo.requests.results import LEFT_OUT, MERGED
from zoo.store.errors import StoreError
from zoo.store.public_addresses import AddressGuard
from zoo.store.pull import PulledModel, PullRequest, pull, pull_locked
from zoo.store.push import push
from zoo.store.records import add_to_lock, read_lock
from zoo.store.sources import open_model_source
from zoo.store.transfers import ANY_FILE, ExpectedFile, TransferSettings
from zoo.store.upkeep import ListedModel, RemovedPath, added_files, check_model, list_models, prune


@dataclass(frozen=True)
class NamedCard:
    """A card with the name of its model, and the place of the weights."""

    model: str
    weights: WeightsPlace
    card: Card = field(metadata=MERGED)


@answers(ListRequest)
def list_cards(request: ListRequest, listen: Listen) -> tuple[NamedCard, ...]:
    """Return the cards of all named models, and the places of their weights."""
    return tuple(NamedCard(name, weights_place(name), card) for name, card in all_cards().items())


@answers(CardRequest)
def card(request: CardRequest, listen: Listen) -> Card:
    """Return the card of a model, which an ONNX model can contain."""
    path = Path(request.model)
    if path.suffix != ".onnx":
        return card_of(path)
    from converters.onnx.files import read_card_text

    text = read_card_text(path)
    if not text:
        raise FileError(f"{path}: the model contains no card; `zoo export` writes one for a net that has a card")
    return parse_card(text, str(path))


@dataclass(frozen=True)
class ImportedFiles:
    """The written files of a model."""

    model: str
    files: tuple[Path, ...]


@dataclass(frozen=True)
class ImportedProgram:
    """A net as a program, the file that was written, and the reason why the net wouldn't work, or `None`."""

    file: str
    output: str | None
    program: str
    problem: str | None


@answers(ImportRequest)
def import_model(request: ImportRequest, listen: Listen) -> ImportedFiles | ImportedProgram:
    """Write the files of a model, or a net as a program."""
    if request.as_dsl:
        return _import_program(request)
    from netdsl.data.sources.open_source import class_names_of
    from zoo.catalogue.writing import write_model

    classes = () if request.classes is None else class_names_of(request.classes)
    return ImportedFiles(
        request.model, tuple(write_model(request.model, Path(request.output or request.model), classes))
    )


def _import_program(request: ImportRequest) -> ImportedProgram:
    from netdsl.dsl.source import to_python
    from netdsl.model.model import open_net

    net = open_net(request.model, dialect=request.dialect, lenient=request.lenient).net
    try:
        program = to_python(net)
    except CaffeError as error:
        raise type(error)(in_file(request.model, error)) from None
    problem = _problem_of_net(request.model, net)
    if request.output is not None:
        write_pieces(request.output, [program.encode()])
    return ImportedProgram(request.model, request.output, program, problem)


def _problem_of_net(model: str, net: pb.NetParameter) -> str | None:
    """Return the reason why the net wouldn't work, or `None`."""
    from netdsl.dsl.params import check_net

    try:
        check_net(net)
    except CaffeError as error:
        return in_file(model, error)
    return None


@answers(FetchRequest)
def fetch(request: FetchRequest, listen: Listen) -> list[PulledModel]:
    """Pull a model into the store, or the models that a lock file pins."""
    store = store_here()
    settings = TransferSettings(
        request.max_size,
        request.timeout,
        request.min_speed,
        request.deadline,
        offline=request.offline,
        listen=listen,
        guard=AddressGuard(any_address=request.any_address),
    )
    if request.locked is not None:
        return [pull_locked(store, locked, settings) for locked in read_lock(request.locked).models]
    expected = ExpectedFile(request.sha256)
    source = open_model_source(str(request.model), ANY_FILE if request.weights else expected)
    pulled = pull(store, PullRequest(source, request.name, request.weights, expected, own=request.own), settings)
    if request.lock is not None:
        add_to_lock(request.lock, pulled.record)
    return [pulled]


@dataclass(frozen=True)
class GivenModel:
    """A pushed model, with its files and their destination."""

    model: str
    address: str
    files: Sequence[str]


@answers(PushRequest)
def give(request: PushRequest, listen: Listen) -> GivenModel:
    """Push a model's folder to a new folder or to a hub."""
    model = request.model
    folder = find_model(Path(model))
    if isinstance(folder, CatalogueModel):
        raise StoreError(
            f"{model}: the model belongs to netdsl; write it to your own folder with `zoo import {model}`, and push "
            "that"
        )
    if folder is None:
        raise StoreError(
            f"{model}: not a model's folder; name a folder that contains deploy.prototxt or train_val.prototxt"
        )
    pushed = push(folder, request.target, private=request.private, tell=lambda text: listen(Notice(text)))
    return GivenModel(model, pushed.address, pushed.files)


@answers(StoreListRequest)
def list_store(request: StoreListRequest, listen: Listen) -> list[ListedModel]:
    """Return the models in the store."""
    return list_models(store_here())


@dataclass(frozen=True)
class CheckedFiles:
    """The problems with a stored model's files, and the files that were added to its folder."""

    model: str
    problems: Sequence[str]
    others: Sequence[str] = field(metadata=LEFT_OUT)

    @property
    def good(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


@answers(StoreCheckRequest)
def check_store(request: StoreCheckRequest, listen: Listen) -> Iterator[CheckedFiles]:
    """Yield the problems of each model in the store, or of the named ones."""
    store = store_here()
    names = request.names or tuple(store.names())
    with work(listen, "", len(names)) as advance:
        for name in names:
            checked = check_model(store, name)
            others = [] if checked.problems else added_files(store, store.record(name))
            advance()
            yield CheckedFiles(checked.name, checked.problems, others)


@answers(StorePruneRequest)
def prune_store(request: StorePruneRequest, listen: Listen) -> list[RemovedPath]:
    """Remove damaged models from the store, models by name, or copies of files at addresses."""
    if request.copies is not None:
        return [RemovedPath(path, f"a copy of {origin}") for path, origin in remove_unused_copies(request.copies)]
    return prune(store_here(), request.names, everything=request.everything)


@dataclass(frozen=True)
class StorePath:
    """The folder of the store, or of a model in it."""

    model: str | None
    path: Path


@answers(StorePathRequest)
def path_in_store(request: StorePathRequest, listen: Listen) -> StorePath:
    """Return the folder of the store, or of a model in it."""
    store = store_here()
    if request.name is None:
        return StorePath(None, store.path)
    return StorePath(request.name, store.folder(store.record(request.name).name))
