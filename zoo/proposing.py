"""Regions that a net proposes for the images of a data set. They are written to a file from which another net
learns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, SetImages
from netdsl.data.sources.annotations.proposals import Boxes, write_proposals
from netdsl.data.sources.open_source import open_annotated_set
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.transforms.resizing import ShortSide
from netdsl.data.types import Array
from netdsl.data.writing.map_items import map_items
from netdsl.errors import DataError, NetError
from netdsl.layer.samples import BlobKind
from netdsl.layer.tops import MakesRegions
from netdsl.layers import type_of
from netdsl.model.model import Model
from netdsl.model.opening import match_names, open_model
from netdsl.net.graph import Phase
from netdsl.net.sample_inputs import input_kinds
from netdsl.prediction.predictor import Predictor
from netdsl.solver.events import WeightsLoaded
from zoo.devices import one_device
from zoo.names import problem_of_model
from zoo.requests.events import Listen, work
from zoo.requests.request import answers
from zoo.requests.using import ProposeRequest


@dataclass(frozen=True)
class ProposedRegions:
    """The written file, the number of images and the number of written regions."""

    output: str
    images: int
    regions: int


@answers(ProposeRequest)
def propose(request: ProposeRequest, listen: Listen) -> ProposedRegions:
    """Write the regions that a net proposes for all images of a set, in order. After an error, nothing is written."""
    device = one_device(request.device, listen)
    marked = open_annotated_set(request.data)
    model = open_model(request.net, request.weights, deployed=True, dialect=request.dialect)
    try:
        proposer = _Proposer(Predictor(model, [_blob(model)]).load(device), request)
    except NetError as problem:
        raise type(problem)(problem_of_model(request.net, problem, request.weights)) from None
    listen(WeightsLoaded(model.files, match_names(model, proposer.predictor.built)))
    names, boxes = list[str](), list[Boxes]()
    with work(listen, "proposing", len(marked)) as advance:
        for name, pixels in _decoded(marked):
            names.append(name)
            boxes.append(proposer.regions(pixels))
            advance()
    write_proposals(request.output, names, boxes)
    return ProposedRegions(request.output, len(names), sum(map(len, boxes)))


def _decoded(marked: AnnotatedSet) -> Iterator[tuple[str, Array]]:
    """Yield the name and the pixels of every image, which threads read ahead. Raises an error at the first image that
    can't be read."""
    with closing(map_items(SetImages(marked), range(len(marked)), lambda _, image: _pixels(image))) as results:
        for result in results:
            if isinstance(result, DataError):
                raise result
            yield result


def _pixels(image: AnnotatedImage) -> tuple[str, Array]:
    return image.name, decode(image.read(), Color.COLOR, str(image.path))


class _Proposer:
    """A net that proposes regions. Its two inputs are the image and a blob with the image's height, width and scale."""

    def __init__(self, predictor: Predictor, request: ProposeRequest) -> None:
        self.predictor, self._sizing = predictor, ShortSide(request.side, request.longest)
        built = predictor.built
        for layer in built.layers:
            if isinstance(layer, MakesRegions):
                layer.keep_regions(request.most)
        kinds = input_kinds(built)
        edges = [each.edge for each in predictor.inputs]
        self._sizes = [edge for edge in edges if kinds[edge] is BlobKind.IMAGE_SIZE]
        self._images = [edge for edge in edges if edge not in self._sizes]
        if len(self._images) != 1 or len(self._sizes) != 1:
            names = ", ".join(f"'{each.blob.name}'" for each in predictor.inputs)
            raise NetError(
                "a net that proposes regions needs an image and its size as inputs, but the inputs of this net "
                f"are {names or 'none'}; choose a detector, such as faster-rcnn"
            )

    def regions(self, image: Array) -> Boxes:
        """Return the regions of an image in the image's own pixels."""
        pixels, scale = self._sizing(image)
        size = torch.tensor([[*pixels.shape[1:], scale]], dtype=torch.float32)
        tops = self.predictor.run({self._images[0]: torch.from_numpy(pixels)[None], self._sizes[0]: size})
        (edge,) = self.predictor.outputs.values()
        boxes = tops[edge].astype(np.float32).reshape(-1, 5)[:, 1:] / np.float32(scale)
        if not np.isfinite(boxes).all():
            raise DataError(
                "a region isn't finite; download the weights again, or train the net again with a lower base_lr"
            )
        return boxes


def _blob(model: Model) -> str:
    """Return the name of the blob that contains the regions in the net's TEST phase."""
    for node in model.graph(Phase.TEST).nodes:
        kind = type_of(node.layer)
        if kind is not None and issubclass(kind, MakesRegions):
            return node.layer.top[0]
    raise NetError("the net proposes no regions in its TEST phase; name the test net, such as rpn_test.pt")
