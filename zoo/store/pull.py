"""Pulling: a model is copied from its source into the store, and its weights from the addresses in its card."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from caffe_proto.errors import CaffeError
from netdsl.errors import NetError
from netdsl.model.formats import holds_weights
from netdsl.solver.events import Notice
from zoo.cards import CARD, Card, card_text, parse_card
from zoo.model_folder import WEIGHTS, ModelFolder
from zoo.requests.results import MERGED
from zoo.store.errors import DownloadError, InterruptedTransferError, StoreError, UnreachableError
from zoo.store.incoming_folder import (
    FileKind,
    IncomingFolder,
    checked_name,
    hash_file,
    hash_stored,
    is_partial,
    kind_of,
)
from zoo.store.local_store import Store, checked_model_name, open_stored
from zoo.store.records import LockedModel, StoredFile, StoreRecord, now, read_record, write_record
from zoo.store.sources import ModelSource, is_local, open_model_source, taken_name
from zoo.store.transfers import ANY_FILE, ExpectedFile, TransferSettings

NOT_PUBLISHED = {
    "caffemodel_size": "",
    "caffemodel_url": "",
    "mirrors": "",
    "sha1": "",
}  # fields of a card whose weights are others

_OTHER_CARD = "published-card.md"  # a card in another format
_FRONT_MATTER = re.compile(r"\A\ufeff?\s*---[ \t]*\n(?P<front>.*?)(?P<end>^---[ \t]*$)", re.DOTALL | re.MULTILINE)


def with_fields(text: str, values: Mapping[str, str]) -> str:
    """Return the text of a card with new values for some fields. Fields with empty values are removed."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return text
    front = match["front"]
    for name in values:
        # A field continues in lines that are indented, or that are items of its list.
        front = re.sub(rf"(?m)^{re.escape(name)}[ \t]*:.*\n(?:[ \t-].*\n|\n)*", "", front)
    lines = "".join(f"{name}: {value}\n" for name, value in values.items() if value)
    return text[: match.start("front")] + front + lines + text[match.start("end") :]


def with_missing_fields(text: str, values: Mapping[str, str]) -> str:
    """Return the text of a card with values for those fields that it lacks."""
    match = _FRONT_MATTER.match(text)
    front = "" if match is None else match["front"]
    lacking = {name: value for name, value in values.items() if not re.search(rf"(?m)^{re.escape(name)}[ \t]*:", front)}
    return with_fields(text, lacking)


def _settle_card(folder: IncomingFolder, name: str) -> Card:
    """Return the card of a folder, and write one if it has none. A hub's card may lack the required field `name`, which
    is added. A card in any other format is kept as a text under another name."""
    path = folder.path / CARD
    text = path.read_text(encoding="utf-8", errors="replace") if CARD in folder.files else ""
    for candidate in (text, with_fields(text, {"name": name})):
        try:
            card = parse_card(candidate, CARD)
        except CaffeError:
            continue
        if candidate != text:
            folder.receive(CARD, [candidate.encode()], CARD)
        return card
    if text:
        folder.receive(_OTHER_CARD, [text.encode()], CARD)
        folder.tell(f"{name}: {CARD} contains no readable card, so it is kept as {_OTHER_CARD}")
    card = Card(name)
    folder.receive(CARD, [card_text(card).encode()], CARD)
    return card


@dataclass(frozen=True)
class PullRequest:
    """A request to pull: the source, the name, additional weights, and the bytes that a lock file pins."""

    source: ModelSource
    name: str = ""  # by default the source's name
    weights: tuple[str, ...] = ()  # files and addresses
    expected: ExpectedFile = ANY_FILE  # about the weights
    own: bool = False  # whether the weights are another training than the one in the card
    locked: LockedModel | None = None

    @property
    def pinned(self) -> dict[str, StoredFile] | None:
        """The pinned files, which are the only ones accepted, or `None` to accept any."""
        return None if self.locked is None else {file.name: file for file in self.locked.files}

    @property
    def typed(self) -> tuple[str, ...]:
        """The addresses that the user typed. Those in a lock file may come from other people."""
        return () if self.locked is not None else (self.source.address, *self.weights)

    @property
    def weights_sources(self) -> tuple[str, ...]:
        """The weights as in records, where local files have absolute paths."""
        return tuple(str(Path(each).resolve()) if is_local(each) else each for each in self.weights)


@dataclass(frozen=True)
class PulledModel:
    """A model in the store."""

    folder: Path
    record: StoreRecord = field(metadata=MERGED)
    is_new: bool = field(metadata={"json": "new"})  # whether this pull stored it
    has_weights: bool


def pull_locked(store: Store, locked: LockedModel, settings: TransferSettings) -> PulledModel:
    """Pull exactly the model that a lock file pins."""
    source = open_model_source(locked.source)
    request = PullRequest(source, locked.name, locked.weights, locked=locked)
    return pull(store, request, settings)


def pull(store: Store, request: PullRequest, settings: TransferSettings) -> PulledModel:
    """Pull a model, unless it is already in the store. In that case the network isn't used."""
    name = checked_model_name(request.name or request.source.default_name)
    settings = replace(settings, guard=settings.guard.allow(request.typed))
    waiting = Notice(f"{name}: another process is pulling it; waiting until that has ended")
    with store.locked(name, lambda: settings.listen(waiting)):
        is_new = not store.has(name)
        if is_new:
            _collect_model(store, name, request, settings)
        record = read_record(store.folder(name))
        _check_source(record, request)
        record = _with_weights(store.folder(name), record, request, settings)
        if request.locked is not None:
            _check_locked(store, record, request.locked, is_new=is_new)
        model = open_stored(store.folder(name))
        return PulledModel(model.path, record, is_new, model.has_weights)


def _collect_model(store: Store, name: str, request: PullRequest, settings: TransferSettings) -> None:
    """Collect the files of a source. The model appears in the store when all are complete."""
    staging = store.staging(name)
    folder = IncomingFolder(staging, settings, request.pinned)
    try:
        revision = _collect_files(folder, request)
        folder.keep_only_files()
        if request.own:
            _describe_own_weights(folder, name, request.weights[0])
        _check_card_and_weights(folder, _settle_card(folder, name))
        folder.check_card()
        files = tuple(sorted(folder.files.values(), key=lambda file: file.name))
        write_record(
            staging, StoreRecord(name, request.source.address, revision, now(), files, request.weights_sources)
        )
        store.install(staging, name)
    except CaffeError as problem:
        here = list(staging.iterdir())
        can_resume = any(map(is_partial, here)) or (here and isinstance(problem, DownloadError))
        if not can_resume:
            store.remove(staging)
        if isinstance(problem, UnreachableError):
            other_way = (
                f"if you can get the model in another way, store its file or folder with `zoo pull PATH --as {name}`"
            )
            raise UnreachableError(f"{problem}; {other_way}") from None
        if isinstance(problem, InterruptedTransferError):
            again = "run the same command again, which continues the transfer"
            raise InterruptedTransferError(f"{problem}; {again}") from None
        raise


def _collect_files(folder: IncomingFolder, request: PullRequest) -> str:
    """Collect all requested files, and return the source's version."""
    source = request.source if request.locked is None else request.source.at(request.locked.revision)
    revision = source.fill(folder)
    for weights in request.weights:
        _add_weights(folder, weights, request.expected)
    return revision


def _describe_own_weights(folder: IncomingFolder, name: str, weights: str) -> None:
    """Replace the facts in a folder's card about the published weights with those about the user's own."""
    _settle_card(folder, name)
    file = folder.files[_weights_name(weights)]
    facts = {**NOT_PUBLISHED, "results": "", "caffemodel": file.name, "sha256": file.sha256}
    text = (folder.path / CARD).read_text(encoding="utf-8", errors="replace")
    folder.receive(CARD, [with_fields(text, facts).encode()], CARD)


def _check_card_and_weights(folder: IncomingFolder, card: Card) -> None:
    """Raise an error if the card's weights would be outside the folder, or don't match the collected weights."""
    _weights_of(card, folder.path)
    weights = _weights_in(ModelFolder(folder.path, card))
    if weights is not None:
        _prove_weights(weights, card)


def _add_weights(folder: IncomingFolder, weights: str, expected: ExpectedFile) -> None:
    name = _weights_name(weights)
    if is_local(weights):
        copy = folder.copy(Path(weights), name)
        difference = hash_file(copy).difference(expected)
        if difference is not None:
            raise StoreError(f"{weights}: {difference}")
        return
    folder.download(name, [weights], expected)


def _weights_name(weights: str) -> str:
    name = Path(weights).name if is_local(weights) else PurePosixPath(unquote(urlsplit(weights).path)).name
    if kind_of(taken_name(name, weights)) is not FileKind.WEIGHTS:
        raise StoreError(f"{weights}: not a weights file; name one such as .caffemodel or .safetensors")
    return name


def _check_source(record: StoreRecord, request: PullRequest) -> None:
    if record.source == request.source.address and (not request.weights or record.weights == request.weights_sources):
        return
    raise StoreError(
        f"{record.name}: the store already contains a model with this name from {record.source}; choose another "
        f"name with --as, or remove that model with `zoo store prune {record.name}`"
    )


@dataclass(frozen=True)
class _WeightsFile:
    """The weights file, as a card describes it."""

    name: str
    addresses: Sequence[str]
    expected: ExpectedFile


def _weights_of(card: Card, where: Path) -> _WeightsFile:
    addresses = [address for address in (card.caffemodel_url, *card.mirrors) if address]
    last = PurePosixPath(unquote(urlsplit(addresses[0]).path)).name if addresses else ""
    name = card.caffemodel or (last if holds_weights(last) else WEIGHTS)
    if kind_of(name) is not FileKind.WEIGHTS:
        raise StoreError(
            f"{where.name}: its card names '{name}' as the file of the weights; name one such as weights.caffemodel"
        )
    return _WeightsFile(checked_name(name, f"{where.name}: its card"), addresses, expected_weights(card))


def expected_weights(card: Card) -> ExpectedFile:
    """Return the card's facts about the weights file."""
    try:
        return ExpectedFile(card.sha256, card.sha1, card.caffemodel_size)
    except StoreError as problem:
        raise StoreError(f"the card of {card.name}: {problem}; correct `sha256` or `sha1` in the card") from None


def _with_weights(path: Path, record: StoreRecord, request: PullRequest, settings: TransferSettings) -> StoreRecord:
    """Return the record of a model after its weights have been added, from the card's addresses or from a file that the
    user put there."""
    model = open_stored(path)
    weights, here = _weights_of(model.card, path), _weights_in(model)
    recorded = {file.name: file for file in record.files}
    if (here is not None and here.name in recorded) or not _needs_weights(model):
        return record
    folder = IncomingFolder(path, settings, request.pinned)
    if here is not None:
        _prove_weights(here, model.card)
        folder.adopt(here.name)
    elif weights.addresses:
        _fetch_weights(folder, weights)
    else:
        folder.tell(
            f"{record.name}: no published weights are known, so the model can't predict, be tested or be fine-tuned "
            f"yet; train it with `zoo train {record.name}`, or copy weights to {path / weights.name}"
        )
        return record
    files = sorted({**recorded, **folder.files}.values(), key=lambda file: file.name)
    record = replace(record, files=tuple(files))
    write_record(path, record)
    return record


def _fetch_weights(folder: IncomingFolder, weights: _WeightsFile) -> None:
    if not weights.expected.is_proof:
        folder.tell(f"{folder.path.name}: the card contains no hash of the weights, so they can't be verified")
    try:
        folder.download(weights.name, weights.addresses, weights.expected)
    except DownloadError as problem:
        place = folder.path / weights.name
        raise type(problem)(
            f"{problem}; the net is stored without weights; if you have the file, copy it to {place}"
        ) from None


def _weights_in(model: ModelFolder) -> Path | None:
    """Return the weights in the folder, or `None` if there are none or it is unclear which of several files they
    are."""
    try:
        return next(iter(model.weights), None)
    except NetError:
        return None


def _needs_weights(model: ModelFolder) -> bool:
    """Return whether a model's weights must be in a separate file."""
    try:
        has_own_weights = not model.weights and model.net.suffix == ".onnx"
    except NetError:  # only weights, or several weights files
        return False
    return not has_own_weights


def _prove_weights(path: Path, card: Card) -> None:
    """Raise an error unless the weights match the card."""
    expected = expected_weights(card)
    difference = hash_file(path).difference(expected) if expected.is_proof else None
    if difference is not None:
        raise StoreError(
            f"{path}: {difference} by the card in README.md; replace the file, or store weights of your own under "
            "another name with `zoo pull MODEL --weights FILE --own --as NAME`"
        )


def _check_locked(store: Store, record: StoreRecord, locked: LockedModel, *, is_new: bool) -> None:
    """Raise an error unless the files are exactly the locked ones. Files that were just pulled and don't match are
    removed."""
    here = {file.name: file for file in (hash_stored(store.folder(record.name), file) for file in record.files) if file}
    wanted = {file.name: file for file in locked.files}
    different = sorted(name for name in {*here, *wanted} if here.get(name) != wanted.get(name))
    if not different:
        return
    problem = f"{record.name}: the lock file doesn't match {', '.join(different)}"
    if is_new:
        store.remove(store.folder(record.name))
        raise StoreError(f"{problem} in the current version of {locked.source}; pull it without --locked")
    raise StoreError(f"{problem}; remove the model with `zoo store prune {record.name}`, and pull it again")
