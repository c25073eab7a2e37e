"""A net of any age, from a file of any format or from a message. Nothing here needs torch."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.dialects import dialect_named, mark, mark_by_fields
from caffe_proto.errors import CaffeError, FileError, in_file
from caffe_proto.files import CaffeFile, Form, read_net
from caffe_proto.locations import located
from caffe_proto.upgrade import upgrade_net
from netdsl.errors import NetError, ShapeWarning
from netdsl.html_table import html_table
from netdsl.model.formats import FileModel, NamedModel, deploy_net_in, has_tensors, named_model, reader_of
from netdsl.model.weights.match import AnyArray, Weights, arrays_of
from netdsl.model.weights.torch_names import TensorMatch
from netdsl.net.graph import Graph, Phase, filter_layers, net_of, resolve, resolve_all, state_of, with_input_layer

if TYPE_CHECKING:
    import torch

    from netdsl.model.data_shapes import DataShape, Items, ItemsBeside, ReadShapes, Settled
    from netdsl.net.build import Built
    from netdsl.net.module import NetModule


@dataclass(frozen=True, eq=False)
class Model:
    """A net in today's form with its weights by layer. Neither ever changes: an edit returns another model.

    The model computes derived values on first use and keeps them: the graphs of its phases, and for each phase the
    layers with all shapes, and the shapes of its data.
    """

    net: pb.NetParameter
    weights: Weights = field(default_factory=dict)
    file: CaffeFile[pb.NetParameter] | None = None  # a Caffe file that contains exactly these weights, if there is one
    names: tuple[TensorMatch, ...] = ()  # how torch's tensors were matched to layers
    sources: Mapping[str, Path] = field(default_factory=dict)  # the file that each layer's weights are from
    items_beside: ItemsBeside = lambda images: {}
    items: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # shapes from the user, without the batch
    # How the shapes are known that an edit wrote into the net.
    known: Mapping[str, DataShape] = field(default_factory=dict)
    level: int = 0
    stages: Sequence[str] = ()  # or the name of a single stage
    read: ReadShapes = field(default_factory=dict, init=False, repr=False)  # the results of reading its data
    _settled: dict[tuple[Phase, bool], Settled] = field(default_factory=dict, init=False, repr=False)
    _warned: set[Phase] = field(default_factory=set, init=False, repr=False)

    def _repr_html_(self) -> str:
        """Return the layers of the first phase as a table, or the error if the net can't be built."""
        try:
            built = self.settled(self.phases[0]).built
            return built.html(f"'{self.net.name}', {built.size_text()}")
        except CaffeError as problem:
            return html_table(f"'{self.net.name}': {problem}", (), ())

    @cached_property
    def graphs(self) -> Sequence[Graph]:
        """The graphs of the net's phases, TEST first."""
        return resolve_all(with_input_layer(self.net), level=self.level, stages=self.stages)

    @property
    def phases(self) -> list[Phase]:
        """The phases of the net, TEST first."""
        return [graph.phase for graph in self.graphs]

    def graph(self, phase: Phase) -> Graph:
        """Return the graph of a phase. Raises a `GraphError` if bottoms are missing there."""
        graph = next((graph for graph in self.graphs if graph.phase is phase), None)
        return graph or resolve(with_input_layer(self.net), phase, level=self.level, stages=self.stages)

    def layers(self, phase: Phase, *, stub_unknown: bool = False) -> Built:
        """Return the layers of a phase with all shapes. They don't have memory.

        With `stub_unknown`, placeholders replace layers that aren't available. A warning names guessed shapes, and
        settings that mean something else in other forks of Caffe.
        """
        from netdsl.net.build import warn_of_doubts  # imports torch, which code that only reads a net needn't wait for

        settled = self.settled(phase, stub_unknown=stub_unknown)
        if phase not in self._warned:
            self._warned.add(phase)
            warn_of_doubts(settled.built)
            warn_of_guesses(self.net.name, settled.data)
        return settled.built

    def module(self, phase: Phase, device: torch.device | str = "cpu") -> NetModule:
        """Return the layers of a phase as a torch module with the model's weights.

        Raises a `WeightsError` if a layer that learns has no weights. The module belongs to the caller, who may change
        it. Only the module holds the weights in memory, so they are released with its last reference. The model keeps
        the layers without memory for the next module.
        """
        from netdsl.model.weights.files import allocate_with_weights
        from netdsl.net.module import NetModule

        built = self.layers(phase).with_own_blobs()
        allocate_with_weights(built, self.weights, device)
        return NetModule(built)

    def data(self, phase: Phase, *, stub_unknown: bool = False) -> Mapping[str, DataShape]:
        """Return the shape of one item for each blob that data layers of a phase produce, and how it is known."""
        from netdsl.model.data_shapes import Known

        return {
            name: replace(self.known[name], item=shape.item)
            if shape.known is Known.STATED and name in self.known
            else shape
            for name, shape in self.settled(phase, stub_unknown=stub_unknown).data.items()
        }

    def settled(self, phase: Phase, *, stub_unknown: bool = False) -> Settled:
        """Return the layers of a phase with the shapes of its data, without a warning."""
        from netdsl.model.data_shapes import settle
        from netdsl.net.placeholder_layer import unavailable_types

        key = phase, stub_unknown
        if key not in self._settled:
            settled = self._settled[key] = settle(
                self.net,
                phase,
                self.weights,
                said=self.items,
                level=self.level,
                stages=self.stages,
                stub_unknown=stub_unknown,
                read=self.read,
                beside=self.items_beside,
            )
            if not unavailable_types([settled.built.graph]):  # placeholders make no difference
                self._settled[phase, not stub_unknown] = settled
        return self._settled[key]

    def layers_as_read(self, graph: Graph) -> Built:
        """Return the layers of a graph of this model whose data layers state the shapes that were read, as in training.

        The caller may allocate memory for them. The layers are kept for later calls for the same phase. Layers with
        users' own code aren't kept, because they belong to one net.
        """
        from netdsl.layer.user_code import RunsUserCode
        from netdsl.model.data_shapes import Settled, read_data
        from netdsl.net.build import build

        known = self._settled.get((graph.phase, False))
        if known is None or not known.is_of(graph):
            built = build(graph)
            if any(isinstance(layer, RunsUserCode) for layer in built.layers):
                return built
            known = Settled(built, read_data(built))
            self._settled[graph.phase, False] = self._settled[graph.phase, True] = known
        return known.built.with_own_blobs()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the weights are from."""
        return tuple(dict.fromkeys(self.sources.values()))

    def only(self, phase: Phase) -> Model:
        """Return the model with only the layers of one phase, at the model's level and stages. The layers don't have
        rules."""
        net = filter_layers(self.net, state_of(self.net, phase, self.level, self.stages))
        return replace(self, net=net_of(net, net.layer), level=0, stages=())

    def with_items(self, items: Mapping[str, tuple[int, ...]]) -> Model:
        """Return the model whose data layers state these shapes of items."""
        from netdsl.model.data_shapes import with_items

        if not items:
            return self
        known = {name: shape for name, shape in self.known.items() if name not in items}
        return replace(self, net=with_items(self.net, items), known=known)

    def with_weights(self, weights: Weights) -> Model:
        """Return the model with other values for some of its layers. If all values are equal, this is the same
        model."""
        same = all(
            len(self.weights.get(name, ())) == len(arrays) and all(map(_equal, self.weights[name], arrays))
            for name, arrays in weights.items()
        )
        return self if same else self.with_other_weights(weights={**self.weights, **weights}, file=None)

    def with_other_weights(self, **changes: Any) -> Model:
        """Return the model with other weights and related fields.

        The layers are kept if the shapes of their data don't depend on weights.
        """
        made = replace(self, **changes)
        made.read.update(self.read)
        made._settled.update({key: each for key, each in self._settled.items() if each.is_certain})
        return made


def in_state(model: Model, state: pb.NetState) -> Model:
    """Return the model in another state, which includes the phase. The layers are kept if they are the same in that
    state."""
    net = copy_of(model.net)
    net.state.CopyFrom(state)
    made = replace(model, net=net, level=state.level)
    if state.stage == model.net.state.stage and state.level == model.level:
        object.__setattr__(made, "_settled", model._settled)  # the two models share what either of them finds
    return made


def warn_of_guesses(net: str, data: Mapping[str, DataShape]) -> None:
    """Warn in one line about shapes of data that are guesses."""
    from netdsl.model.data_shapes import guess_sentence

    sentence = guess_sentence(data)
    if sentence:
        warnings.warn(f"net '{net}': {sentence}", ShapeWarning, stacklevel=3)


def _equal(one: AnyArray, other: AnyArray) -> bool:
    return one.shape == other.shape and np.array_equal(one, other, equal_nan=True)


class HasNetMessage(Protocol):
    """An object with a net as its message, such as a `NetParams` or a file that was read."""

    message: pb.NetParameter


NetSource = str | Path | pb.NetParameter | HasNetMessage


def open_net(
    net: NetSource, *, dialect: str | None = None, lenient: bool = False, items: Items = MappingProxyType({})
) -> Model:
    """Return a net of any age with the weights in its own file.

    A path can also be a model's folder or name, which stands for the net to train. `dialect` is the fork of Caffe that
    the net is for. It overrides the net's own dialect, which is otherwise inferred from its fields. With `lenient`,
    fields of a prototxt that the schema doesn't have are skipped, with a warning for each. `items` contains shapes,
    without the batch, for inputs or data layers that have none.
    """
    if isinstance(net, (str, Path)):
        return open_named(named_model(net), dialect=dialect, lenient=lenient, items=items)
    return replace(_open_source(net, dialect, lenient, items), items=items)


def open_named(
    named: NamedModel,
    *,
    deployed: bool = False,
    dialect: str | None = None,
    lenient: bool = False,
    items: Items = MappingProxyType({}),
) -> Model:
    """Return the net of a name, a folder or a file. This is the net to train or, with `deployed`, the net to use."""
    net = named.deployed if deployed else named.net
    opened = _open_source(net, dialect, lenient, items)
    return replace(opened, items=items, items_beside=lambda images: _items_beside(named, net, images))


def _items_beside(named: NamedModel, net: Path | pb.NetParameter, images: Collection[str]) -> Items:
    """Return the shapes of a net's image blobs that the model's net for prediction or its card states."""
    with suppress(CaffeError):
        stated = _stated_items(_deployed_beside(named, net))
        if stated.keys() >= set(images):
            return stated
    with suppress(CaffeError):
        item = named.image_item
        if item is None and isinstance(named, FileModel) and isinstance(net, Path):
            item = named_model(net.parent).image_item
        if item is not None and len(images) == 1:
            return dict.fromkeys(images, item)
    return {}


def _stated_items(net: Path | pb.NetParameter | None) -> Items:
    """Return the items of the inputs whose shapes a net states."""
    inputs = [layer for layer in open_net(net).net.layer if layer.input_param.shape] if net is not None else []
    return {
        top: tuple(shape.dim[1:])
        for layer in inputs
        for top, shape in zip(layer.top, layer.input_param.shape, strict=False)
    }


def _deployed_beside(named: NamedModel, net: Path | pb.NetParameter) -> Path | pb.NetParameter | None:
    """Return the net to use, if it isn't this net, or `None`.

    For a file, this is the deploy net in its folder.
    """
    beside = named.deployed
    if beside is net and isinstance(net, Path):
        beside = deploy_net_in(net.parent) or net
    return None if beside is net or (isinstance(net, Path) and beside == net) else beside


def _open_source(net: NetSource, dialect: str | None, lenient: bool, items: Items) -> Model:
    if isinstance(net, Path):
        return _open_file(net, dialect, lenient, items)
    if isinstance(net, CaffeFile):
        return _of_caffe(net, dialect)
    message = getattr(net, "message", net)
    if not isinstance(message, pb.NetParameter):
        raise NetError(
            f"a net must be a path, a message, or a description such as NetParams, not a {type(net).__name__}; "
            "pass, for example, 'train_val.prototxt'"
        )
    return Model(_without_blobs(todays_form(message, dialect)))


def _open_file(path: Path, dialect: str | None, lenient: bool, items: Items) -> Model:
    reader = reader_of(path)
    if reader is not None:
        shapes = {name: (1, *item) for name, item in items.items()}
        model = reader(path, shapes=shapes) if shapes and "shapes" in signature(reader).parameters else reader(path)
        return replace(model, sources=dict.fromkeys(model.weights, path))
    file = None if has_tensors(path) else read_net(path, dialect=dialect, lenient=lenient)
    if file is None or file.form is Form.HDF5:
        raise FileError(
            f"{path}: the file contains weights but no net; name the net's file, and this file with --weights"
        )
    try:
        model = _of_caffe(file, dialect)
    except CaffeError as problem:
        raise type(problem)(in_file(path, problem)) from None
    return replace(model, sources=dict.fromkeys(model.weights, path))


def _of_caffe(file: CaffeFile[pb.NetParameter], dialect: str | None = None) -> Model:
    return Model(
        _without_blobs(todays_form(located(file.message, file.path, file.body), dialect)),
        arrays_of(file),
        file if len(file.blobs) else None,
    )


def _without_blobs(net: pb.NetParameter) -> pb.NetParameter:
    for layer in net.layer:
        layer.ClearField("blobs")
    return net


def todays_form(net: pb.NetParameter, dialect: str | None = None) -> pb.NetParameter:
    """Return a copy of a net in today's form, marked with the dialects that it may be in.

    Caffe drops inputs without shapes. Here they keep their names in `input`, and `with_input_layer` turns them into
    tops of a layer, which can have shapes.
    """
    upgraded = upgrade_net(net).message
    if dialect is None:
        mark_by_fields(upgraded)
    else:
        mark(upgraded, [dialect_named(dialect).name])
    if not net.input_shape and not net.input_dim:
        made = {top for layer in upgraded.layer for top in layer.top if top not in layer.bottom}
        upgraded.input.extend(name for name in net.input if name not in made)
    return upgraded
