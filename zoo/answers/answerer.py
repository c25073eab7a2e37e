"""The answerer: a model with weights, on a device, that answers single images or batches of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, in_file
from netdsl.data.sources.class_names import read_class_names
from netdsl.data.sources.source import Source
from netdsl.data.sources.vocabulary import Vocabulary
from netdsl.data.tables.table import BlobColumn
from netdsl.data.transforms.decode import COLORS, GRAY, decode
from netdsl.data.transforms.image_settings import settings_in_tests
from netdsl.data.transforms.resizing import ShortSide
from netdsl.data.writing.map_items import map_items
from netdsl.errors import DataError, DecoderError, NetError, memory_shortage
from netdsl.layer.samples import BlobKind
from netdsl.model.data_shapes import Items
from netdsl.model.deploy.captioner import CaptionerParts, split_captioner
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.deploy.joined_captioner import join_captioner
from netdsl.model.deploy.predictions import loss_predictions, measured_predictions
from netdsl.model.model import Model, NetSource, open_net
from netdsl.model.opening import add_weights, match_names, open_model
from netdsl.net.build import reshape
from netdsl.net.graph import Graph, Phase
from netdsl.net.sample_inputs import input_kinds, is_image
from netdsl.prediction.captions import CaptionGenerator
from netdsl.prediction.decoders import DECODERS
from netdsl.prediction.decoders.decoder import Decoder, PublishedInput
from netdsl.prediction.invalid_rows import InvalidRows
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.predictor import Predictor
from netdsl.solver.events import Listener, Notice, WeightsLoaded
from netdsl.solver.solver import ignore_event
from zoo.answers.answer import Answer, AnswerSettings, ImageAnswer, ImageSize, Numbers, Placement
from zoo.answers.cut import expected_cut
from zoo.answers.images import (
    LayerPreparation,
    Preparation,
    PreparedImage,
    ShortSidePreparation,
    image_name,
    image_of,
    open_images,
)
from zoo.answers.layer_settings import describe_unknown, layer_settings
from zoo.answers.outputs import NetOutput, StatedOutput, features_output, find_output, keeps_apart
from zoo.answers.readers import CaptionReader, ClassNames, OutputReader, Outputs
from zoo.card_input import short_side_of, transform_of, unlike_layer
from zoo.cards import Card, Channels, ImageInput, card_decoder
from zoo.names import ZooModel, classes_of_model, described_model, known_card_notice, problem_of_model
from zoo.requests.events import Listen, work
from zoo.requests.using import View

_BATCH, _PIXELS = 16, 1 << 20  # default numbers of images and pixels in a batch, if the net allows them

_MOST_BROKEN = 64  # number of damaged images in a row after which an incomplete batch is run
NamedImage = tuple[str, PreparedImage | DataError]  # an image prepared for the net, or the problem with it


@dataclass(frozen=True)
class AnswererRequest:
    """A request for an answerer: the model, its weights, the device, the batch size, the blob to read, the way to read
    it, the file with the words of captions, the net that computes the features for captions, and the net that finds the
    subjects to cut out.

    `read_as` is a `View` or the name of a decoder. `classes` are the classes that a test set distinguishes.
    """

    model: str
    weights: tuple[str, ...] = ()
    device: str | torch.device = "cpu"
    batch: int | None = None
    blob: str | None = None
    read_as: str | None = None
    classes: int | None = None
    vocabulary: str | Path | None = None
    features_net: str | None = None
    dialect: str | None = None
    detector: str | None = None


class Answerer:
    """A model that answers images. Many threads may call `prepare`, but only one at a time may call `run`."""

    cut = ""  # a sentence about the part of a photo that images must show

    def __init__(self, request: AnswererRequest, listen: Listener = ignore_event) -> None:
        self._named = described_model(Path(request.model), request.weights)
        self._origin = request.model
        self.card = Card(Path(request.model).stem) if self._named is None else self._named.card
        image_net = Path(request.features_net or request.model)
        self._named_for_images = described_model(image_net) if request.features_net else self._named
        self._image_folder = image_net if image_net.is_dir() else image_net.parent
        if notice := known_card_notice(self._named):
            listen(Notice(f"{request.model}: {notice}"))
        model, image_model = _open_models(request, self._named_for_images)
        try:
            deployed = _deployed(model)
            self.data = deployed.data(Phase.TEST, stub_unknown=True)  # the input shapes, and how they are known
            parts = split_captioner(deployed)
            if parts is None:
                stated = stated_output(request, self._named, model, deployed)
                output = find_output(deployed, stated, input_size(deployed))
            else:
                output = features_output(parts)
            if output.note:
                listen(Notice(f"{request.model}: {output.note}"))
            self._predictor = output.predictor.load(request.device)
            used = self._predictor.built if parts is None else deployed.settled(Phase.TEST).built
            listen(WeightsLoaded(model.files, match_names(deployed, used)))
            self._image, self._sizes = _inputs_for_images(self._predictor)
            family = None if output.recognized is None else output.recognized.input
            self.preparation = self._preparation_of_images(image_model, family, listen)
            if parts is None:
                self._reader = output.reader(
                    self._image.edge,
                    self.preparation.size,
                    lambda sentence: listen(Notice(f"{request.model}: {sentence}")),
                )
            else:
                self._reader = self._caption_reader(parts, output, request)
            named = self._named_for_images
            self.cut = expected_cut(None if named is None else named.card.input, output.decoder)
            if self.cut and request.detector is None:
                listen(Notice(f"{request.model}: {self.cut}"))
            self.batch = self._batch_of_images(request, listen)
        except (NetError, DecoderError) as problem:
            raise type(problem)(problem_of_model(request.model, problem, request.weights)) from None

    @property
    def name(self) -> str:
        """The model's name."""
        return self.card.name

    @property
    def blob(self) -> str:
        """The name of the answer's blob, or of its first blob."""
        return self._predictor.built.graph.blobs[self._reader.edge]

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of labels, as far as they are known."""
        return self._reader.names.names

    @property
    def answers(self) -> type:
        """The type of the answers."""
        return self._reader.answers

    @property
    def least_score(self) -> float:
        """The minimum score of detections in tests."""
        return self._reader.LEAST_SCORE

    def image_column(self, columns: Mapping[str, str]) -> BlobColumn:
        """Return the image blob with its column in tables. `columns` maps blobs to columns."""
        blob = self._image.blob.name
        return BlobColumn(blob, columns.get(blob, blob), color=self.preparation.color)

    def decode(self, data: bytes, where: str, *, keep: bool = False) -> PreparedImage:
        """Return the input for an encoded image."""
        return self.prepare(decode(data, self.preparation.color, where), where, keep=keep)

    def prepare(self, image: Numbers, where: str, *, keep: bool = False) -> PreparedImage:
        """Return the input for an image of channels, height, width. With `keep`, the image is kept for drawing."""
        return self.preparation(image, where, keep=keep)

    def run(self, images: Sequence[PreparedImage]) -> Outputs:
        """Return the net's outputs for a batch of images."""
        edges = self._edges(images)
        try:
            outputs = self._predictor.run(edges)
        except RuntimeError as problem:
            shortage = memory_shortage(problem)
            if shortage is None:
                raise
            raise NetError(shortage) from None
        return {self._image.edge: edges[self._image.edge].numpy(), **outputs}

    def inputs(self, images: Sequence[PreparedImage]) -> dict[str, Numbers]:
        """Return the net's inputs for a batch of images, by name."""
        blobs = self._predictor.built.graph.blobs
        return {blobs[edge]: values.numpy() for edge, values in self._edges(images).items()}

    def _edges(self, images: Sequence[PreparedImage]) -> dict[int, Tensor]:
        edges = {self._image.edge: torch.from_numpy(np.stack([image.values for image in images]))}
        for edge in (net_input.edge for net_input in self._sizes):
            numbers = math.prod(self._predictor.built.shapes[edge][1:])
            edges[edge] = torch.tensor([_size_numbers(image.placement, numbers) for image in images])
        return edges

    def read(self, outputs: Outputs, index: int, image: PreparedImage, settings: AnswerSettings) -> Answer:
        """Return the answer about the image at this index of the batch."""
        try:
            return self._reader.read(outputs, index, image.placement, settings)
        except DecoderError as problem:
            raise NetError(in_file(self._origin, problem)) from None

    def _preparation_of_images(self, model: Model, family: PublishedInput | None, listen: Listener) -> Preparation:
        blob = self._image.blob.name
        if self._sizes:
            return self._preparation_by_short_side(listen)
        named, folder = self._named_for_images, self._image_folder
        channels, height, width = self._predictor.built.shapes[self._image.edge][1:]
        if named is not None and named.card.input is not None:
            image = named.card.input
            with suppress(CaffeError):  # the training net may have errors, and isn't needed
                layer = layer_settings(model, named, folder, blob)
                for note in unlike_layer(image, None if layer is None else layer.transform):
                    listen(Notice(note))
            if known_card_notice(named) and image.size != (height, width):
                image = replace(image, size=(height, width), resize=None)
                listen(Notice(f"the net reads images of {height}x{width}, so it doesn't get the size in the card"))
            return LayerPreparation(transform_of(image, named.path), image.channels, standardized=image.standardized)
        layer = layer_settings(model, named, folder, blob)
        if layer is None and family is not None and channels == COLORS:
            order = Channels.RGB if family.rgb else Channels.BGR
            image = ImageInput((height, width), order, None, family.mean, family.scale, family.padded)
            preparation = LayerPreparation(transform_of(image, folder), order)
            listen(Notice(describe_unknown(preparation, folder, as_published=True)))
            return preparation
        param = pb.TransformationParameter() if layer is None else layer.usable()
        settings = settings_in_tests(param, channels, (height, width))
        preparation = LayerPreparation(settings, Channels.GRAY if channels == GRAY else Channels.BGR)
        unknown = describe_unknown(preparation, folder, as_published=False)
        listen(Notice(unknown if layer is None else layer.describe(preparation)))
        return preparation

    def _preparation_by_short_side(self, listen: Listener) -> Preparation:
        """Return the preparation for a net whose inputs include the sizes of images, which differ."""
        named = self._named_for_images
        if named is not None and named.card.input is not None:
            image = named.card.input
            return ShortSidePreparation(short_side_of(image, named.path), image.channels)
        preparation = ShortSidePreparation(ShortSide(), Channels.BGR)
        listen(Notice(f"no card describes how images become the input; as in py-faster-rcnn, they are {preparation}"))
        return preparation

    def _caption_reader(self, parts: CaptionerParts, output: NetOutput, request: AnswererRequest) -> OutputReader:
        """Return a reader that writes captions with the words next to the net, or in the request's file."""
        if request.blob is not None and request.features_net is None:
            raise NetError(
                "the model writes captions, but --blob is for other answers, or names the features of "
                "--features-net; leave --blob out"
            )
        own_names = classes_of_model(request.model, request.weights)
        names = own_names if request.vocabulary is None else read_class_names(request.vocabulary)
        if not names:
            raise NetError(
                "the model writes captions, but there is no labels.txt with its words next to it; name the file "
                "with --vocabulary"
            )
        generator = CaptionGenerator(parts.sentence, Vocabulary(names), request.device)
        return CaptionReader(output.edge, ClassNames(names), generator, output.predictor.outputs)

    def _batch_of_images(self, request: AnswererRequest, listen: Listener) -> int:
        """Return the batch size of the request, or the largest useful one. It is 1 if the net reads single images."""
        height, width = self.preparation.size
        batch = request.batch or max(1, min(_BATCH, _PIXELS // (height * width)))
        if not self._sizes and self._can_read(batch):
            return batch
        if (request.batch or 1) > 1:
            reason = "image sizes differ" if self._sizes else "its layers don't keep images apart"
            listen(Notice(f"{request.model}: the net reads one image at a time, since {reason}"))
        return 1

    def _can_read(self, batch: int) -> bool:
        """Return whether the net's outputs keep the images of a batch apart. Layers may fix the number of images."""
        built = self._predictor.built
        before = list(built.shapes)
        try:
            reshape(built, {self._image.edge: (batch, *before[self._image.edge][1:])})
            own = before[self._image.edge][0]
            return all(keeps_apart(before[edge], built.shapes[edge], own, batch) for edge in built.graph.outputs)
        except NetError:
            return False
        finally:
            built.shapes[:] = before


def stated_output(
    request: AnswererRequest, named: ZooModel | None, model: Model, deployed: Model | None = None
) -> StatedOutput:
    """Return the facts about a net's output from the request, the card and the files next to the net."""
    view, decoder = _chosen_reading(request.read_as)
    if named is not None and named.card.output and view is None and decoder is None:
        decoder = card_decoder(named.card, named.origin, named.path)

    @cache
    def trained() -> list[Graph]:
        """Return the graphs of the net as it is used and trained, if the training net can be read."""
        graphs = [*(() if deployed is None else deployed.graphs), *model.graphs]
        if loss_predictions(model.graphs):  # the net is the training net itself
            return graphs
        is_own = model.file is None or Path(request.model) in model.sources.values()
        sources: list[NetSource] = [] if is_own or model.file is None else [model.file.message]
        if named is not None and named.net != named.deployed:
            sources.append(named.net)
        for source in sources:
            with suppress(CaffeError):
                graphs += open_net(source).graphs
        return graphs

    task = None if named is None or view is not None or decoder is not None else named.card.task
    names = classes_of_model(request.model, request.weights)
    return StatedOutput(request.blob, view, decoder, task, names, request.classes, trained)


def _chosen_reading(read_as: str | None) -> tuple[View | None, Decoder | None]:
    """Return the view or the decoder that the user names."""
    if read_as is None:
        return None, None
    views = {view.value: view for view in View}
    try:
        return (views[read_as], None) if read_as in views else (None, DECODERS[read_as]())
    except DecoderError as problem:
        raise NetError(
            f"--as {read_as}: the decoder needs settings: {problem}; set them in the field `output` of a card"
        ) from None


def input_size(deployed: Model) -> ImageSize | None:
    """Return the size of a net's only image input, or `None`."""
    built = deployed.settled(Phase.TEST, stub_unknown=True).built
    sizes = [built.shapes[edge][2:] for edge in built.input_edges() if len(built.shapes[edge]) == 4]
    return ImageSize(*sizes[0]) if len(sizes) == 1 else None


def _open_models(request: AnswererRequest, named: ZooModel | None) -> tuple[Model, Model]:
    """Return the model with its weights, and the model that reads the images, which `named` describes. They are the
    same model unless another net computes features."""
    if request.features_net is None:
        opened = open_model(request.model, request.weights, deployed=True, dialect=request.dialect)
        model = replace(opened, items_beside=partial(_items_beside, opened, named))
        return model, model
    words, image = (
        open_model(net, deployed=True, dialect=request.dialect) for net in (request.model, request.features_net)
    )
    try:
        joined = join_captioner(words, image, request.blob)
    except NetError as problem:
        raise type(problem)(in_file(request.model, problem)) from None
    return add_weights(joined, request.weights), image


def _items_beside(model: Model, named: ZooModel | None, images: Collection[str]) -> Items:
    """Return the shapes of a net's image blobs that the files next to it or its card state."""
    items = model.items_beside(images)
    if items or named is None or named.image_item is None or len(images) != 1:
        return items
    return dict.fromkeys(images, named.image_item)


def _deployed(model: Model) -> Model:
    """Return a model's deploy net. A net without losses keeps its outputs that nothing learns, such as priors, because
    decoders read them."""
    deployed, graph = deploy_model(model), model.graphs[0]
    if loss_predictions(model.graphs) or measured_predictions(graph):
        return deployed
    computed = {edge for node in graph.nodes if node.bottoms for edge in node.tops}
    outputs = [graph.blobs[edge] for edge in graph.outputs if edge in computed]
    kept = {deployed.graphs[0].blobs[edge] for edge in deployed.graphs[0].outputs}
    return deployed if kept.issuperset(outputs) else deploy_model(model, outputs=outputs)


def _inputs_for_images(predictor: Predictor) -> tuple[NetInput, list[NetInput]]:
    """Return the input for images, and the inputs for their sizes."""
    built, inputs = predictor.built, predictor.inputs
    kinds = input_kinds(built)
    sizes = [each for each in inputs if kinds[each.edge] is BlobKind.IMAGE_SIZE]
    images = [each for each in inputs if is_image(kinds[each.edge], built.shapes[each.edge])]
    if len(images) != 1 or len(inputs) != 1 + len(sizes):
        names = ", ".join(f"'{each.blob.name}'" for each in inputs) or "none"
        raise NetError(
            f"the net needs more than an image: its inputs are {names}; name a table with a column for each, as in "
            "`zoo predict NET TABLE.parquet -o OUT.parquet`"
        )
    return images[0], sizes


def _size_numbers(placement: Placement, count: int) -> list[float]:
    """Return the size of an image for the net's size input: height and width as the net sees them, and the scale, once
    or for each side."""
    assert placement.scale is not None
    return [float(side) for side in placement.resized] + [placement.scale] * (count - 2)


def answer_images(
    answerer: Answerer,
    names: Sequence[str],
    settings: AnswerSettings,
    listen: Listen,
    *,
    columns: Mapping[str, str],
    stdin: BinaryIO,
    invalid: InvalidRows = InvalidRows.SKIP,
    draws: bool = False,
) -> Iterator[ImageAnswer]:
    """Yield the answers about all named images. `invalid` decides whether a damaged image is an error.

    `columns` maps blobs to columns of tables. With `draws`, answers keep their images for drawing.
    """
    blob = answerer.image_column(columns)
    with ExitStack() as stack:
        sources = [(name, stack.enter_context(closing(open_images(name, blob, stdin)))) for name in names]
        advance = stack.enter_context(work(listen, "", sum(len(source) for _, source in sources)))
        for answer in _answers(answerer, _prepared_images(answerer, sources, keep=draws), settings):
            if answer.problem and invalid is InvalidRows.ERROR:
                raise DataError(answer.problem)
            yield answer
            advance()


def answers_on(answerer: Answerer, source: Source, settings: AnswerSettings) -> Iterator[ImageAnswer]:
    """Yield an answer for each image of a source. Raises an error for an image without an answer."""
    for answer in _answers(answerer, _prepared_images(answerer, [("", source)]), settings):
        if answer.problem:
            raise DataError(answer.problem)
        yield answer


def inputs_on(answerer: Answerer, source: Source) -> Iterator[Mapping[str, Numbers]]:
    """Yield the inputs of the net in batches, for the images of a source. Raises an error for a damaged image."""
    waiting = list[PreparedImage]()
    for _, prepared in _prepared_images(answerer, [("", source)]):
        if isinstance(prepared, DataError):
            raise prepared
        waiting.append(prepared)
        if len(waiting) == answerer.batch:
            yield answerer.inputs(waiting)
            waiting = []
    if waiting:
        yield answerer.inputs(waiting)


def _answers(answerer: Answerer, images: Iterable[NamedImage], settings: AnswerSettings) -> Iterator[ImageAnswer]:
    """Yield an answer for each image, in order."""
    waiting, good = list[NamedImage](), 0
    for name, prepared in images:
        waiting.append((name, prepared))
        good += isinstance(prepared, PreparedImage)
        if good == answerer.batch or len(waiting) >= answerer.batch + _MOST_BROKEN:
            yield from _answers_at_once(answerer, waiting, settings)
            waiting, good = [], 0
    yield from _answers_at_once(answerer, waiting, settings)


def _answers_at_once(
    answerer: Answerer, images: Sequence[NamedImage], settings: AnswerSettings
) -> Iterator[ImageAnswer]:
    good = [prepared for _, prepared in images if isinstance(prepared, PreparedImage)]
    outputs = answerer.run(good) if good else {}
    index = 0
    for name, prepared in images:
        if isinstance(prepared, DataError):
            yield ImageAnswer(name, problem=str(prepared))
            continue
        try:
            answer = answerer.read(outputs, index, prepared, settings)
            yield ImageAnswer(name, prepared.placement, answer, pixels=prepared.image)
        except DataError as problem:
            yield ImageAnswer(name, prepared.placement, problem=f"{name}: {problem}")
        index += 1


def _prepared_images(
    answerer: Answerer, sources: Iterable[tuple[str, Source]], *, keep: bool = False
) -> Iterator[NamedImage]:
    """Yield the images of sources, prepared by threads, each with its name as the user knows it."""
    for name, source in sources:
        names = [image_name(source, index, name) for index in range(len(source))]

        def prepare(position: int, fetched: Any, source: Source = source, names: list[str] = names) -> PreparedImage:
            return answerer.prepare(image_of(source.item(fetched)), names[position], keep=keep)

        with closing(map_items(source, range(len(source)), prepare)) as results:
            for position, result in enumerate(results):
                yield names[position], result
