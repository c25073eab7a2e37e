"""Names and folders of models, which can stand for nets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import CaffeError, in_file
from caffe_proto.files import CaffeFile, read, read_solver
from netdsl.data.sources.class_names import class_names_of_model
from netdsl.errors import NetError, WeightsError
from netdsl.model.formats import named_model
from netdsl.storage.cache_folder import cache_folder
from zoo import catalogue
from zoo.cards import Card
from zoo.catalogue import CatalogueModel
from zoo.known import known_card
from zoo.model_folder import WEIGHTS, DescribedNet, ModelFolder, is_model_folder, model_of_file, open_folder
from zoo.store.local_store import Store

if TYPE_CHECKING:
    from netdsl.solver.settings import SolverSettings

ZooModel = ModelFolder | CatalogueModel


def find_model(path: Path) -> ZooModel | None:
    """Return the model with this folder or name, or `None` for a file. Raises an error for an unknown name.

    A folder takes precedence over a name. The store comes before the catalogue, and plug-ins come last.
    """
    if is_model_folder(path):
        return open_folder(path)
    if path.exists() or len(path.parts) != 1:
        return None
    stored = store().model(path.name)
    if stored is not None:
        return stored
    if path.name not in catalogue.names() and path.name in catalogue.MODELS:
        return open_folder(catalogue.MODELS[path.name]())
    return catalogue.model_of(path.name) if catalogue.could_be_name(path.name) else None


def described_model(path: Path, weights: Sequence[str | Path] = ()) -> ZooModel | None:
    """Return the model of a name, of a folder, or of a net with a card next to it.

    If no card states the input, the output or the task, netdsl uses its own card for published weights that it knows.
    `weights` are the files that the user names, if any.
    """
    model = model_of_file(path) if path.is_file() else find_model(path)
    if isinstance(model, CatalogueModel) or (model is not None and model.card.describes_answers):
        return model
    own = tuple[Path, ...]()
    if model is not None:
        with suppress(NetError):  # several weights files
            own = model.weights
    files = tuple(map(Path, weights)) or own or (path,)
    card = known_card(files[0]) if len(files) == 1 else None
    if card is None:
        return model
    known = DescribedNet(path.parent, card, path) if model is None else replace(model, card=card)
    return replace(known, has_known_card=True)


def known_card_notice(model: ZooModel | None) -> str:
    """Return a sentence about a card that netdsl knows by the hash of the weights. It is empty for other cards."""
    if not (isinstance(model, ModelFolder) and model.has_known_card):
        return ""
    return f"read by netdsl's card of {model.card.name}, known by the hash of the weights"


class WeightsPlace(Enum):
    """The place of a named model's weights."""

    INCLUDED = "included"  # in the package, or in a plug-in
    STORED = "stored"
    PUBLISHED = "published"  # at the address in the card, from which `zoo pull` downloads them
    NONE = "none"


def weights_place(name: str) -> WeightsPlace:
    """Return the place of a named model's weights. The store comes first."""
    model = find_model(Path(name))
    if model is not None and model.has_weights:
        return WeightsPlace.STORED if store().has(name) else WeightsPlace.INCLUDED
    return WeightsPlace.PUBLISHED if model is not None and model.card.caffemodel_url else WeightsPlace.NONE


def weights_advice(name: str) -> str:
    """Return the way to get the weights of a model without weights. The result is empty for a file, and for a model
    with weights."""
    model = find_model(Path(name))
    if model is None or model.has_weights:
        return ""
    if model.card.caffemodel_url:
        return f"`zoo pull {name}` downloads its published weights"
    if isinstance(model, ModelFolder):
        place = model.path / WEIGHTS
        return f"the model is stored without weights; copy them to {place}, or train it with `zoo train {name}`"
    return f"no published weights are known; train it with `zoo train {name}`, and name the result with --weights"


def problem_of_model(name: str, problem: CaffeError, weights: Sequence[str]) -> str:
    """Return the text of a problem with a model and the weights that the user named, if any. If weights are missing, it
    ends with the way to get them."""
    advice = weights_advice(name) if isinstance(problem, WeightsError) and not weights else ""
    return "; ".join(filter(None, [in_file(name, problem), advice]))


def classes_of_model(net: str, weights: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a net's classes: those next to its weights, or else the net's own, or else its card's."""
    names = class_names_of_model(*reversed(weights)) or named_model(net).classes
    if names:
        return names
    model = described_model(Path(net), weights)
    return model.card.classes if isinstance(model, ModelFolder) else ()


def card_of(path: Path) -> Card:
    """Return the card of a model's folder or name, or of a file, without building the net."""
    model = described_model(path)
    if model is None:
        raise NetError(
            f"{path}: not the name or folder of a model, and no card describes it; write NAME.card.md next to the net "
            "NAME.prototxt, or see the names with `zoo list`"
        )
    return model.card


def all_cards() -> dict[str, Card]:
    """Return the cards of the models in the catalogue and in plug-ins, by name."""
    own = {name: catalogue.card_of(name) for name in catalogue.names()}
    return own | {name: open_folder(folder()).card for name, folder in catalogue.MODELS.items()}


def settings_of(model: ZooModel) -> pb.SolverParameter | None:
    """Return the solver settings of a model, or `None`."""
    solver = model.solver
    return read_solver(solver).message if isinstance(solver, Path) else solver


def solver_of(name: str, dialect: str | None = None) -> tuple[SolverSettings, Path]:
    """Return the solver settings of a named model, and the folder to which file names in them are relative. Snapshots
    are named after the model and written to the working directory."""
    from netdsl.solver.settings import open_settings  # imports torch, which slows down commands that only need the name

    model = find_model(Path(name))
    if model is None:
        raise NetError(f"{name}: not the name or folder of a model; name your own solver file with --solver")
    settings = settings_of(model)
    if settings is None:
        raise NetError(f"{model.origin}: the model has no solver.prototxt; name a solver file with --solver")
    param = copy_of(settings)
    param.snapshot_prefix = model.path.resolve().name
    if isinstance(model, ModelFolder):
        return open_settings(param, model.path, dialect), model.path
    param.ClearField("net")
    param.net_param.CopyFrom(model.net)
    return open_settings(param, dialect=dialect), Path()


def read_named(name: str, *, dialect: str | None = None, lenient: bool = False) -> CaffeFile[Message]:
    """Return any of Caffe's files or, for the name or folder of a model, its training net."""
    source = named_model(name).net
    if isinstance(source, Path):
        return read(source, dialect=dialect, lenient=lenient)
    return CaffeFile(source, path=name)


def store() -> Store:
    """Return the store of pulled models. It is in the folder NETDSL_HOME, or in the user's cache folder."""
    home = Path(os.environ.get("NETDSL_HOME") or cache_folder())
    return Store(home / "store")


def settings_to_train(model: str | None, solver: str | None, dialect: str | None = None) -> tuple[SolverSettings, Path]:
    """Return the solver settings of a file or a model, and the folder that contains them."""
    from netdsl.solver.settings import open_settings

    if solver is None:
        return solver_of(model or "", dialect)
    return open_settings(solver, dialect=dialect), Path(solver).parent
