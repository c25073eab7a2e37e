"""Names and folders of models, which stand for files wherever a net is taken."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read_solver
from netdsl.data.sources.class_names import class_names_of_model
from netdsl.errors import NetError
from netdsl.formats import ModelFiles, model_files
from zoo import catalogue
from zoo.cards import Card
from zoo.catalogue.writing import write_model
from zoo.model_folder import ModelFolder, is_model_folder, open_folder
from zoo.store.local_store import Store


def find_model(path: Path) -> ModelFiles | None:
    """The files of a model's folder, or of a name; None for what can only be a file. Folders come before names."""
    folder = find_folder(path)
    if folder is None:
        return None
    weights = folder.weights
    return ModelFiles(folder.net, folder.deploy or folder.net, () if weights is None else (weights,))


def classes_of_model(net: str, weights: Sequence[str]) -> tuple[str, ...]:
    """The names of the classes that a net tells apart: those that lie by its weights, else by its own file."""
    return class_names_of_model(*reversed(weights), model_files(Path(net)).deployed)


def find_folder(path: Path) -> ModelFolder | None:
    """A model's folder by its path or its name; None for a file. An error for a name that nothing has. What was pulled
    into the store comes before the catalogue."""
    if is_model_folder(path):
        return open_folder(path)
    if path.exists() or len(path.parts) != 1:
        return None
    stored = store().model(path.name)
    is_name = not path.suffix or path.name in catalogue.names()  # some names have a version, as squeezenet-1.1
    return stored if stored is not None or not is_name else catalogue_folder(path.name)


def card_of(path: Path) -> Card:
    """The card of a model's folder or name, for which no net is built."""
    folder = open_folder(path) if is_model_folder(path) else store().model(str(path))
    return catalogue.card_of(str(path)) if folder is None else folder.card


def solver_of(model: str) -> tuple[pb.SolverParameter, Path]:
    """The settings that a named model is trained with, and the folder that they are in. Snapshots are named after the
    model, in the working directory."""
    folder = find_folder(Path(model))
    if folder is None:
        raise NetError(f"{model}: is no name or folder of a model; --solver takes a file of your own")
    if folder.solver is None:
        raise NetError(f"{folder.path}: has no solver.prototxt, which says how it is trained; --solver takes one")
    param = read_solver(folder.solver).message
    param.snapshot_prefix = folder.path.resolve().name
    return param, folder.path


def catalogue_folder(name: str) -> ModelFolder:
    """A net of the catalogue as files, which are written each time, since another version may have written others."""
    path = home() / "catalogue" / name
    write_model(name, path)
    return open_folder(path)


def store() -> Store:
    """The store of models that were pulled."""
    return Store(home() / "store")


def home() -> Path:
    """The folder for what is fetched or made once: NETDSL_HOME, or one in the user's cache."""
    return Path(os.environ.get("NETDSL_HOME") or Path.home() / ".cache" / "netdsl")
