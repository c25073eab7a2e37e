"""Names and folders of models, which stand for nets wherever one is taken."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.files import CaffeFile, read, read_solver
from netdsl.data.sources.class_names import class_names_of_model
from netdsl.errors import NetError
from netdsl.model.formats import named_model
from zoo import catalogue
from zoo.cards import Card
from zoo.catalogue import CatalogueModel
from zoo.model_folder import ModelFolder, is_model_folder, open_folder
from zoo.store.local_store import Store

if TYPE_CHECKING:
    from netdsl.solver.settings import SolverSettings

ZooModel = ModelFolder | CatalogueModel


def find_model(path: Path) -> ZooModel | None:
    """Return the model that a folder or a name stands for; None for a file, and an error for a name that nothing has.

    A folder comes before a name, and what was pulled into the store before the catalogue. Plug-ins are asked last.
    """
    if is_model_folder(path):
        return open_folder(path)
    if path.exists() or len(path.parts) != 1:
        return None
    stored = store().model(path.name)
    if stored is not None:
        return stored
    is_own = path.name in catalogue.names()
    if not is_own and path.name in catalogue.MODELS:
        return open_folder(catalogue.MODELS[path.name]())
    return catalogue.model_of(path.name) if is_own or not path.suffix else None  # some have a version: squeezenet-1.1


def classes_of_model(net: str, weights: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the classes that a net tells apart: those that lie by its weights, else its own."""
    return class_names_of_model(*reversed(weights)) or named_model(net).classes


def card_of(path: Path) -> Card:
    """Return the card of a model's folder or name, for which no net is built."""
    model = find_model(path)
    if model is None:
        raise NetError(f"{path}: is neither the name nor the folder of a model, so it has no card")
    return model.card


def all_cards() -> dict[str, Card]:
    """Return the cards of the catalogue's models and of those of plug-ins, by their names."""
    own = {name: catalogue.card_of(name) for name in catalogue.names()}
    return own | {name: open_folder(folder()).card for name, folder in catalogue.MODELS.items()}


def settings_of(model: ZooModel) -> pb.SolverParameter | None:
    """Return the settings that a model is trained with, if it has some."""
    solver = model.solver
    return read_solver(solver).message if isinstance(solver, Path) else solver


def solver_of(name: str, dialect: str | None = None) -> tuple[SolverSettings, Path]:
    """Return the settings that a named model is trained with, and the folder where the names of files in them begin.
    Snapshots are named after the model, in the working directory."""
    from netdsl.solver.settings import open_settings  # needs torch, which who only names a model needn't wait for

    model = find_model(Path(name))
    if model is None:
        raise NetError(f"{name}: is neither the name nor the folder of a model; --solver takes a file of your own")
    settings = settings_of(model)
    if settings is None:
        raise NetError(f"{model.origin}: has no solver.prototxt, which says how it is trained; --solver takes one")
    param = copy_of(settings)
    param.snapshot_prefix = model.path.resolve().name
    if isinstance(model, ModelFolder):
        return open_settings(param, model.path, dialect), model.path
    param.ClearField("net")
    param.net_param.CopyFrom(model.net)
    return open_settings(param, dialect=dialect), Path()


def read_named(name: str, *, dialect: str | None = None, lenient: bool = False) -> CaffeFile[Message]:
    """Any of Caffe's files or, for the name or the folder of a model, its net to train."""
    source = named_model(name).net
    if isinstance(source, Path):
        return read(source, dialect=dialect, lenient=lenient)
    return CaffeFile(source, path=name)


def store() -> Store:
    """Return the store of models that were pulled, in the folder NETDSL_HOME, or in one of the user's cache."""
    home = Path(os.environ.get("NETDSL_HOME") or Path.home() / ".cache" / "netdsl")
    return Store(home / "store")


def settings_to_train(model: str | None, solver: str | None, dialect: str | None = None) -> tuple[SolverSettings, Path]:
    """Return the settings of a solver by its file, or of a model, and the folder that they are in."""
    from netdsl.solver.settings import open_settings

    if solver is None:
        return solver_of(model or "", dialect)
    return open_settings(solver, dialect=dialect), Path(solver).parent
