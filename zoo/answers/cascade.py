"""The answerer of MTCNN's cascade, whose three nets find faces together, and the choice of a model's answerer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from caffe_proto.errors import in_file
from netdsl.data.tables.table import BlobColumn
from netdsl.errors import DecoderError, GraphError, NetError
from netdsl.model.data_shapes import DataShape
from netdsl.prediction.cascade import FaceCascade
from netdsl.prediction.decoders.mtcnn import Mtcnn
from netdsl.solver.events import Listener, Notice
from netdsl.solver.solver import ignore_event
from zoo.answers.answer import AnswerSettings, Boxes, ImageSize, Numbers, Placement
from zoo.answers.answerer import Answerer, AnswererRequest
from zoo.answers.images import Preparation, PreparedImage
from zoo.answers.readers import ClassNames, OutputReader, Outputs, boxes_on_image
from zoo.answers.subjects import SubjectAnswerer, detector_files
from zoo.cards import CARD, Card, Channels, card_cascade, has_card, read_card
from zoo.model_folder import is_model_folder
from zoo.names import described_model, known_card_notice

_INPUT = "data"


class _WholeImages(Preparation):
    """Leaves images as they are, since the cascade resizes them itself."""

    def _prepared_pixels(self, pixels: Numbers) -> tuple[Numbers, Placement]:
        size = ImageSize(*pixels.shape[1:])
        return pixels, Placement(size, size, size)

    def _described_changes(self) -> str:
        return "at their own size"


class CascadeAnswerer(Answerer):
    """A folder with MTCNN's nets det1, det2 and det3. Its answers are faces with five landmarks.

    `card` contains the settings of a folder without a card.
    """

    answers: type = Boxes
    least_score = OutputReader.LEAST_SCORE
    blob = "faces"

    def __init__(self, request: AnswererRequest, listen: Listener, card: Card | None = None) -> None:
        folder, given = Path(request.model), (request.blob, request.read_as, request.weights or None)
        if given != (None, None, None):
            raise NetError(f"{folder}: the cascade reads its own nets and blobs; remove --blob, --as and --weights")
        self._origin, path = request.model, folder / CARD
        self.card = read_card(path) if has_card(path) else card or Card(folder.resolve().name)
        stated = card_cascade(self.card, str(path))
        if stated is None:
            listen(
                Notice(
                    f"{folder}: no card describes the output; det1, det2 and det3 are read as MTCNN's cascade, whose "
                    "nets read images with height and width exchanged; for others, set `transposed: false` in a card"
                )
            )
        self._settings = stated or Mtcnn()
        try:
            self._cascade = FaceCascade(folder, self._settings, request.device)
        except GraphError as problem:
            advice = f"set `scores`, `boxes` and `landmarks` in the field `output` of {path}"
            raise NetError(f"{folder}: {problem}; {advice}") from None
        self.preparation = _WholeImages(Channels.BGR)
        self.batch = 1  # image sizes differ
        self.data: Mapping[str, DataShape] = {}

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of labels."""
        return self._settings.names

    def image_column(self, columns: Mapping[str, str]) -> BlobColumn:
        """Return the images' column in tables."""
        return BlobColumn(_INPUT, columns.get(_INPUT, _INPUT), color=self.preparation.color)

    def run(self, images: Sequence[PreparedImage]) -> Outputs:
        """Return nothing, since `read` runs the nets."""
        return {}

    def read(self, outputs: Outputs, index: int, image: PreparedImage, settings: AnswerSettings) -> Boxes:
        """Return the faces in an image. A threshold from the user limits their final scores."""
        try:
            found = self._cascade.detect(image.values[::-1].transpose(1, 2, 0))
        except DecoderError as problem:
            raise NetError(in_file(self._origin, problem)) from None
        boxes = boxes_on_image(found, ClassNames(found.names), image.placement).found
        return Boxes(tuple(box for box in boxes if settings.threshold is None or box.score >= settings.threshold))


def open_answerer(request: AnswererRequest, listen: Listener = ignore_event) -> Answerer:
    """Return the answerer of a model, which answers about each subject that the request's detector finds, if any.

    A folder with the nets of MTCNN, but without a net of its own, is a cascade. One of its nets stands for the cascade
    if its card says so.
    """
    if request.detector is not None:
        found = replace(request, model=request.detector, weights=detector_files(request.detector), detector=None)
        finding = replace(found, blob=None, read_as=None, vocabulary=None, features_net=None)
        return SubjectAnswerer(open_answerer(finding, listen), Answerer(request, listen), listen)
    path = Path(request.model)
    if not is_model_folder(path) and _has_cascade(path):
        return CascadeAnswerer(request, listen)
    named = described_model(path, request.weights) if path.is_file() and request.read_as is None else None
    if named is None or card_cascade(named.card, named.origin) is None:
        return Answerer(request, listen)
    if not _has_cascade(path.parent):
        names = ", ".join(Mtcnn.nets)
        raise NetError(
            f"{path}: the net is a part of a cascade; put its nets and weights into one folder as {names}, or read the "
            "net's own outputs with --as values"
        )
    listen(Notice(f"{path}: {known_card_notice(named) or 'the card describes a cascade'}; all its nets answer"))
    return CascadeAnswerer(replace(request, model=str(path.parent), weights=()), listen, named.card)


def _has_cascade(folder: Path) -> bool:
    return all((folder / f"{name}.prototxt").is_file() for name in Mtcnn.nets)
