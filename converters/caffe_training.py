"""Prepares the net and the solver of a training for BVLC's Caffe, and describes the parts that Caffe can't use."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.descriptors import set_fields
from caffe_proto.dialects import BVLC, PRIVATE, fork_settings, mark
from caffe_proto.errors import CaffeError, few
from caffe_proto.locations import error_label
from netdsl.checking.caffe_notes import caffe_notes
from netdsl.data.transforms.image_settings import Beforehand
from netdsl.data.transforms.mean import Mean
from netdsl.data.writing.databases import write_caffe_database
from netdsl.data.writing.mean_image import write_mean
from netdsl.errors import ConversionError
from netdsl.layer import BringsData
from netdsl.layer.capabilities import capabilities
from netdsl.layer.data import DataOrigin, HasDatabaseForm
from netdsl.layers import LAYERS, type_of
from netdsl.model.model import Model
from netdsl.net.graph import Phase, is_included, state_of

_MOST_NAMES = 3  # the number of layers that one sentence names
_OF_TESTS = ("test_iter", "test_interval", "test_state", "test_initialization", "test_compute_loss")


@dataclass(frozen=True)
class Database:
    """An LMDB that replaces the source of a data layer, with its mean image if there is one."""

    name: str
    layer: HasDatabaseForm
    beforehand: Beforehand
    mean: Mean | None

    def write(self, folder: Path) -> None:
        """Write the database and the mean image into a folder."""
        message = self.layer.layer
        try:
            reading = self.layer.reading(seed=0)
            with closing(reading.source):
                write_caffe_database(reading, self.beforehand, folder / self.name)
            if self.mean is not None and self.mean.image is not None:
                write_mean(
                    np.asarray(self.beforehand.cropped(self.mean.image), np.float32), folder / _mean_of(self.name)
                )
        except CaffeError as problem:
            raise ConversionError(
                f"{error_label(message)}: the data can't be converted to an LMDB: {problem}; mend the data, or "
                "leave out --data-lmdb and name a database of your own in the written net"
            ) from None


@dataclass(frozen=True)
class CaffeTraining:
    """A net and a solver for Caffe.

    `notes` describes the settings that Caffe won't accept. `unread` describes the data layers that would work with
    databases.
    """

    net: pb.NetParameter
    solver: pb.SolverParameter | None
    databases: tuple[Database, ...] = ()
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def training_for_caffe(
    net: pb.NetParameter, solver: pb.SolverParameter | None, *, with_databases: bool = False
) -> CaffeTraining:
    """Remove fork-only settings from a solver, and describe what else Caffe won't accept.

    With databases, a data layer that Caffe can't read is replaced by a layer that reads an LMDB. The LMDB is to be
    written next to the net.
    """
    made, databases, unread = copy_of(net), list[Database](), list[str]()
    for layer in made.layer:
        data = _data_layer(layer, net)
        unknown = _unknown_data(layer, data) if data is not None else []
        if data is None or not unknown:
            continue
        if with_databases:
            database = _database(data, _name(net, layer, databases))
            databases.append(database)
            _replace(layer, data.from_database(database.name, database.beforehand.rest))
        else:
            unread.append(f"{error_label(layer)}: Caffe can't read {', '.join(unknown)}")
    if not any(fork_settings(made)) and all(_is_caffes(layer) for layer in made.layer):
        mark(made, ())  # the net no longer contains anything from the dialect
    model = Model(made)
    readable, solver_notes = _solver_for_caffe(model, solver)
    notes = [*_unknown_settings(made, unread_too=with_databases), *_inputs(made), *_refused(model), *solver_notes]
    return CaffeTraining(made, readable, tuple(databases), tuple(notes), tuple(unread))


def _replace(layer: pb.LayerParameter, made: pb.LayerParameter) -> None:
    """Replace a layer by another one in the same phases."""
    if layer.HasField("phase"):
        made.phase = layer.phase
    else:
        made.ClearField("phase")
    layer.CopyFrom(made)


def _data_layer(layer: pb.LayerParameter, net: pb.NetParameter) -> HasDatabaseForm | None:
    """Return the data layer of a message if its data can be stored in a database, or `None`.

    A layer for both phases is built in TRAIN.
    """
    kind = type_of(layer)
    if kind is None or not issubclass(kind, HasDatabaseForm):
        return None
    message = copy_of(layer)
    message.phase = pb.TRAIN if Phase.TRAIN in _phases(layer, net) else pb.TEST
    return kind(message, [])


def _phases(layer: pb.LayerParameter, net: pb.NetParameter) -> list[Phase]:
    return [phase for phase in Phase if is_included(layer, state_of(net, phase))]


def _unknown_data(layer: pb.LayerParameter, data: HasDatabaseForm) -> list[str]:
    source = data.unknown_source()
    return [*([f"source '{source}'"] if source else []), *dict.fromkeys(fork_settings(layer))]


def _database(data: HasDatabaseForm, name: str) -> Database:
    message = data.layer
    try:
        beforehand = Beforehand.of(message.transform_param, train=message.phase == pb.TRAIN)
        mean = Mean(message.transform_param) if message.transform_param.mean_file else None
    except CaffeError as problem:
        raise ConversionError(f"{error_label(message)}: {problem}") from None
    if mean is not None:
        beforehand.rest.mean_file = _mean_of(name)
    return Database(name, data, beforehand, mean)


def _name(net: pb.NetParameter, layer: pb.LayerParameter, others: Sequence[Database]) -> str:
    """Return a name like those in Caffe's examples, such as train_lmdb."""
    phases = _phases(layer, net)
    stem = phases[0].name.lower() if len(phases) == 1 else "data"
    taken = {database.name for database in others}
    names = (f"{stem}{number}_lmdb" for number in ["", *range(2, len(others) + 3)])
    return next(name for name in names if name not in taken)


def _mean_of(name: str) -> str:
    return f"{name.removesuffix('_lmdb')}_mean.binaryproto"


def _is_caffes(layer: pb.LayerParameter) -> bool:
    """Return whether BVLC's Caffe has the type of a layer. Unknown types count as Caffe's."""
    kind = LAYERS.get(layer.type)
    return kind is None or BVLC.name in capabilities(kind).origins


def _unknown_settings(net: pb.NetParameter, *, unread_too: bool) -> Iterator[str]:
    """Yield a sentence for each type or setting that Caffe lacks.

    Settings of data layers are left out if a database would help.
    """
    layers: dict[str, list[str]] = {}
    for layer in net.layer:
        kind = type_of(layer)
        if not _is_caffes(layer):
            layers.setdefault(f"layers of type {layer.type}", []).append(layer.name)
        elif unread_too or kind is None or not issubclass(kind, HasDatabaseForm):
            for name in dict.fromkeys(fork_settings(layer)):
                layers.setdefault(name, []).append(layer.name)
    for what, names in layers.items():
        where = f"layer{'s' if len(names) > 1 else ''} {few(names, _MOST_NAMES)}"
        yield f"Caffe can't read {what} ({where}), which only forks have; train the net in one of them"


def _inputs(net: pb.NetParameter) -> Iterator[str]:
    """Yield a sentence for each layer that doesn't have data of its own to train on."""
    for layer in net.layer:
        kind = type_of(layer)
        by_program = kind is not None and issubclass(kind, BringsData) and kind.data_origin is not DataOrigin.FILES
        if by_program and Phase.TRAIN in _phases(layer, net):
            yield f"{error_label(layer)}: the layer doesn't read data; a program must pass each batch to Caffe"


def _refused(model: Model) -> list[str]:
    """Return what Caffe refuses in the layers themselves. The list is empty if the net can't be built."""
    with suppress(CaffeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were shown when the net was opened
        return caffe_notes(model.graphs, [model.layers(phase) for phase in model.phases])
    return []


def _solver_for_caffe(model: Model, solver: pb.SolverParameter | None) -> tuple[pb.SolverParameter | None, list[str]]:
    """Return a solver without the settings that Caffe doesn't have or can't use, and a sentence for each."""
    if solver is None:
        return None, []
    made, notes = copy_of(solver), list[str]()
    of_forks = [field.name for field, _ in set_fields(made) if field.number >= PRIVATE]
    if of_forks:
        notes.append(f"solver.prototxt: {', '.join(of_forks)} left out because only forks have them")
    without_tests = Phase.TEST not in model.phases
    of_tests = [field.name for field, _ in set_fields(made) if field.name in _OF_TESTS and without_tests]
    if of_tests:
        what = f"{', '.join(of_tests)} left out because the net has no data for TEST"
        notes.append(f"solver.prototxt: {what}; to keep them, export the prototxt with --weights")
    for name in (*of_forks, *of_tests):
        made.ClearField(name)
    return made, notes
