"""The proof of a rewrite: the model before and after it, on the same made-up images."""

from __future__ import annotations

from collections.abc import Callable

from converters.compare import CaffeModel
from converters.model import Model
from converters.onnx.verification import difference
from netdsl.checking.sample_inputs import sample_inputs
from netdsl.errors import ConversionError
from netdsl.weights.match import AnyArray

Prepare = Callable[[AnyArray], AnyArray]


def difference_after(
    before: Model, after: Model, *, prepare: Prepare | None = None, end: str | None = None, seed: int = 0
) -> float:
    """How far the outputs of the second model are from those blobs of the first, in parts of how far these lie apart.

    The first gets its images prepared, if the second prepares them itself. `end` is the layer of the first whose tops
    are meant, where they aren't what blobs of these names are in the end. Axes of length 1 don't count.
    """
    old, new = CaffeModel(before), CaffeModel(after)
    shapes = {name: tuple(length or 1 for length in shape) for name, shape in old.inputs.items()}
    image, samples = next(iter(old.inputs)), sample_inputs(old.built, shapes, seed)
    found = new.run({name: samples[name] for name in new.inputs})
    edges = old.run_edges(
        {name: prepare(each) if prepare and name == image else each for name, each in samples.items()}
    )
    graph = old.built.graph
    meant = [edge for node in graph.nodes for edge in node.tops if end in (None, node.layer.name)]
    wanted = {graph.blobs[edge]: edges[edge] for edge in meant}
    lost = [name for name in new.outputs if name not in wanted]
    if lost:
        raise ConversionError(f"the net before has no blob {', '.join(map(repr, lost))} to compare with")
    return max(_difference(found[name], wanted[name]) for name in new.outputs)


def _difference(found: AnyArray, wanted: AnyArray) -> float:
    return difference(found.reshape(wanted.shape) if found.size == wanted.size else found, wanted)
