"""Tries out training: data layers read files that they created, and the loss is computed from them."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from torch import nn

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import CaffeError, in_file
from netdsl.checking.image_sizes import halved_images
from netdsl.data.batches.reading import Loading
from netdsl.data.writing.sample_files import write_mean_file
from netdsl.errors import NetError, first_line, memory_shortage, user_code_problem
from netdsl.layer import BringsData, Loss, Shape
from netdsl.layer.data import DataOrigin, HasSampleFiles, MakesData, limit_batch
from netdsl.layer.samples import BlobKind
from netdsl.layers import type_of
from netdsl.model.model import Model, open_net
from netdsl.net.build import Built, at_layer, build, reshape
from netdsl.net.feed import Feeds
from netdsl.net.graph import Graph, Phase, connect
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import Array, input_kinds, is_image, sample_inputs
from netdsl.solver.trainable_net import Compute, ModuleNet

_MEAN = (3, 1, 1)  # the shape of the mean for layers that scale it to their bottoms
_LOADING = Loading(workers=1, prefetch=1)


@dataclass
class DataTrial:
    """The result for one file.

    `trains` is true if the net has a loss in the TRAIN phase, so that it is tried, and `None` if this is unknown.
    `reads` is true if its data layers created files and read a batch of them. `shapes` contains the shapes of that
    batch by top. `loss` is the loss of that batch, and `backward` is true if its gradients were computed. `reason`
    explains why the trial ended early.
    """

    file: str
    trains: bool | None = None
    reads: bool = False
    loss: float | None = None
    backward: bool = False
    reason: str = ""
    shapes: dict[str, Shape] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether the trial didn't end early."""
        return not self.reason


@dataclass(frozen=True)
class TrialSettings:
    """Settings of trials. If a net's batches are larger than `batch` and can be changed, they are reduced to this
    number of items."""

    batch: int = 2
    forward_only: bool = False
    stages: Sequence[str] = ()
    dialect: str | None = None


def try_data(path: str | Path, settings: TrialSettings) -> DataTrial:
    """Try one file. The result contains any problems."""
    trial, start = DataTrial(str(path)), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _try(path, settings, trial)
    except CaffeError as problem:
        trial.reason = in_file(path, problem)
    except (
        Exception
    ) as problem:  # an error in a user's layer, a bug, or a lack of memory mustn't stop other files from being tried
        what = user_code_problem(problem) or memory_shortage(problem)
        trial.reason = f"{path}: {what or f'{type(problem).__name__}: {first_line(problem)}'}"
    trial.seconds = time.perf_counter() - start
    return trial


def _try(path: str | Path, settings: TrialSettings, trial: DataTrial) -> None:
    model = replace(open_net(path, dialect=settings.dialect, lenient=True), stages=settings.stages)
    graph = next((graph for graph in model.graphs if graph.phase is Phase.TRAIN), None)
    trial.trains = graph is not None and _has_loss(graph)
    if graph is None or not trial.trains:
        return
    built = _built(graph.net, settings)
    with TemporaryDirectory(prefix="zoo-check-") as folder:
        made, inputs = _with_samples(built, Path(folder))
        _run_on_batch(connect(made), inputs, settings, trial)


def _has_loss(graph: Graph) -> bool:
    kinds = [(type_of(node.layer), node.layer) for node in graph.nodes]
    return any(any(layer.loss_weight) or (kind is not None and issubclass(kind, Loss)) for kind, layer in kinds)


def _built(net: pb.NetParameter, settings: TrialSettings) -> Built:
    """Return the net with its shapes, a small batch, and small images if the files determine their size."""
    try:
        built = Model(_with_small_batch(net, settings)).layers(Phase.TRAIN)
    except NetError:  # the net accepts no other batch
        built = Model(net).layers(Phase.TRAIN)
    shapes, kinds = {edge: built.shapes[edge] for edge in built.input_edges()}, input_kinds(built)
    edges = [edge for node, layer in built.data_layers() if layer.any_size for edge in node.tops]
    images = [edge for edge in edges if is_image(kinds[edge], shapes[edge])]
    if next(halved_images(built, shapes, images), built) is built:
        reshape(built, shapes)
    return built


def _with_small_batch(net: pb.NetParameter, settings: TrialSettings) -> pb.NetParameter:
    """Return a copy of a net whose data layers don't have larger batches than the settings allow."""
    made = copy_of(net)
    for layer in made.layer:
        kind = type_of(layer)
        if kind is not None and issubclass(kind, (BringsData, MakesData)):
            limit_batch(layer, settings.batch)
    return made


def _with_samples(built: Built, folder: Path) -> tuple[pb.NetParameter, dict[str, Array]]:
    """Return the net with data layers that read sample files in a folder, and values for its other inputs."""
    made, names = copy_of(built.graph.net), built.graph.blobs
    kinds = input_kinds(built)
    values = sample_inputs(built, {names[edge]: built.shapes[edge] for edge in built.input_edges()})
    for index, (node, layer) in enumerate(built.pairs()):
        if isinstance(layer, BringsData) and layer.data_origin is DataOrigin.FILES:
            tops = [(values[names[edge]], kinds[edge]) for edge in node.tops]
            made.layer[index].CopyFrom(_with_files(layer, folder / str(index), tops))
        elif node.bottoms:
            write_mean_file(made.layer[index], _MEAN, folder)
    return made, values


def _with_files(layer: BringsData, folder: Path, tops: Sequence[tuple[Array, BlobKind]]) -> pb.LayerParameter:
    with at_layer(layer.layer):
        if not isinstance(layer, HasSampleFiles):
            raise NetError(
                f"sample files can't be created for a layer of type {layer.layer.type}; check the net without --data"
            )
        folder.mkdir()
        return layer.write_samples(folder, [layer.stored(values, kind) for values, kind in tops])


def _run_on_batch(graph: Graph, inputs: Mapping[str, Array], settings: TrialSettings, trial: DataTrial) -> None:
    """Read a batch, and run the net on it."""
    with closing(Feeds.open(graph, loading=_LOADING)) as feeds:
        if feeds.input_shapes:
            feeds.give([{graph.blobs[edge]: inputs[graph.blobs[edge]] for edge in feeds.input_shapes}])
        trial.reads = True
        built = build(graph)
        trial.shapes = {graph.blobs[edge]: built.shapes[edge] for edge in built.input_edges()}
        net = ModuleNet(_with_statistics(NetModule(built).allocate()), feeds.next, Compute())
        trial.loss = (net.forward() if settings.forward_only else net.forward_backward()).item()
        trial.backward = not settings.forward_only
    if not math.isfinite(trial.loss):
        raise NetError(
            f"the loss is {trial.loss}, which isn't finite; check the settings of its losses, and lower the std of "
            "its fillers"
        )


def _with_statistics(module: NetModule) -> NetModule:
    """Return the net with statistics of 1. Statistics of an untrained net can make layers divide by nearly zero."""
    for layer in module.built.layers:
        for blob in layer.blob_tensors():
            if not isinstance(blob, nn.Parameter):
                blob.fill_(1)
    return module
