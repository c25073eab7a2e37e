"""The answerer of photos with several subjects: a detector finds them, and a net answers each after it is cut out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from netdsl.data.tables.table import BlobColumn
from netdsl.data.transforms.decode import Color, in_color
from netdsl.errors import DataError, NetError
from netdsl.model.data_shapes import DataShape
from netdsl.prediction.decoders.decoder import Embedding, Points, Text
from netdsl.solver.events import Listener, Notice
from zoo.answers.answer import (
    Answer,
    AnswerSettings,
    Box,
    Boxes,
    Classes,
    Corners,
    Number,
    Numbers,
    Subject,
    Subjects,
    Traits,
    Values,
)
from zoo.answers.answerer import Answerer
from zoo.answers.images import PreparedImage
from zoo.answers.readers import OutputReader, Outputs
from zoo.cards import Around, Cut

_LARGEST_PART = 1 << 26  # pixels, as of an image file
_ANSWERS = (Points, Traits, Embedding, Classes, Number, Text, Values)  # without boxes, masks and pictures


@dataclass(frozen=True, kw_only=True)
class _Photo(PreparedImage):
    """The detector's input, and the photo itself with the channels blue, green, red."""

    pixels: Numbers


class SubjectAnswerer(Answerer):
    """A detector and a net whose card states how a subject is cut out along the detector's box. The answers are those
    of the net for each box, with places in the whole photo."""

    answers: type = Subjects
    least_score = OutputReader.LEAST_SCORE
    batch = 1  # photos have different numbers of subjects
    blob = "subjects"

    def __init__(self, detector: Answerer, net: Answerer, listen: Listener) -> None:
        cut = None if net.card.input is None else net.card.input.cut
        if detector.answers is not Boxes:
            raise NetError(f"--detector: {detector.name} doesn't find boxes; name a net that does, or leave it out")
        if net.answers not in _ANSWERS:
            raise NetError(f"{net.name} doesn't answer about one subject in a photo; leave --detector out")
        if cut is None or cut.around is not Around.BOX:
            raise NetError(
                f"the card of {net.name} doesn't state how subjects are cut out along a detector's box; write it in "
                "the card's `input`, as in `cut: {subject: face, margin: [0.1]}`, or leave --detector out"
            )
        if cut.detector not in ("", detector.name):
            listen(
                Notice(
                    f"the boxes of {detector.name} are cut out, but the author of {net.name} uses those of "
                    f"{cut.detector}; if they differ, so do the answers"
                )
            )
        self._detector, self._net, self._cut = detector, net, cut
        self.card, self.preparation = net.card, detector.preparation
        self.data: Mapping[str, DataShape] = net.data

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the detector's labels."""
        return self._detector.class_names

    def image_column(self, columns: Mapping[str, str]) -> BlobColumn:
        """Return the images' column in tables. Either net may read colors."""
        return replace(self._detector.image_column(columns), color=Color.COLOR)

    def prepare(self, image: Numbers, where: str, *, keep: bool = False) -> PreparedImage:
        """Return the detector's input for a photo, together with the photo."""
        prepared = self._detector.prepare(image, where, keep=keep)
        return _Photo(prepared.values, prepared.placement, prepared.image, pixels=in_color(image, Color.COLOR))

    def run(self, images: Sequence[PreparedImage]) -> Outputs:
        """Return the detector's outputs."""
        return self._detector.run(images)

    def read(self, outputs: Outputs, index: int, image: PreparedImage, settings: AnswerSettings) -> Subjects:
        """Return the answer about each subject in a photo. A threshold from the user limits the detector's scores."""
        assert isinstance(image, _Photo)
        found = self._detector.read(outputs, index, image, settings)
        assert isinstance(found, Boxes)
        known = self._cut.subject in self.class_names
        boxes = [box for box in found.found if not known or box.name == self._cut.subject]
        return Subjects(tuple(self._subjects(image.pixels, boxes, settings)))

    def _subjects(self, pixels: Numbers, boxes: Sequence[Box], settings: AnswerSettings) -> Iterator[Subject]:
        for start in range(0, len(boxes), self._net.batch):
            group = [(box, part_of_photo(self._cut, box.corners)) for box in boxes[start : start + self._net.batch]]
            group = [(box, part) for box, part in group if part[0] < part[2] and part[1] < part[3]]
            if not group:
                continue
            images = [self._net.prepare(cut_out(pixels, part), box.name) for box, part in group]
            outputs = self._net.run(images)
            for index, ((box, part), image) in enumerate(zip(group, images, strict=True)):
                answer = self._net.read(outputs, index, image, settings)
                yield Subject(replace(box, points=()), _moved(answer, part[:2]))


def part_of_photo(cut: Cut, box: Corners) -> tuple[int, int, int, int]:
    """Return the left, top, right and bottom of the part around a box, in whole pixels. It may extend beyond the
    photo."""
    sides = np.array([box.right - box.left, box.bottom - box.top] * 2)
    corners = np.array(box) + np.array(cut.margins) * sides * [-1, -1, 1, 1]
    if cut.square:
        center, half = (corners[:2] + corners[2:]) / 2, (corners[2:] - corners[:2]).max() / 2
        corners = np.concatenate([center - half, center + half])
    left, top, right, bottom = corners.round().astype(int).tolist()
    return left, top, right, bottom


def cut_out(pixels: Numbers, part: tuple[int, int, int, int]) -> Numbers:
    """Return a part of an image of channels, height, width. Pixels outside the image are black, as in MTCNN's crops."""
    left, top, right, bottom = part
    if (right - left) * (bottom - top) > _LARGEST_PART:
        raise DataError(
            f"the part around a box has {right - left} x {bottom - top} pixels, which is too much memory; lower "
            "`margin` in the card's `cut`, or give a smaller image"
        )
    height, width = pixels.shape[1:]
    inside = pixels[:, max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    rows, columns = (max(-top, 0), max(bottom - height, 0)), (max(-left, 0), max(right - width, 0))
    return np.pad(inside, ((0, 0), rows, columns))


def _moved(answer: Answer, corner: tuple[int, int]) -> Answer:
    """Return an answer whose points are measured from the photo's corner, not from that of the part."""
    return replace(answer, points=answer.points + np.array(corner)) if isinstance(answer, Points) else answer


def detector_files(detector: str) -> tuple[str, ...]:
    """Return the weights of a detector's net: those of a prototxt are in the file of the same name."""
    path = Path(detector)
    weights = path.with_suffix(".caffemodel")
    return (str(weights),) if path.suffix == ".prototxt" and weights.is_file() else ()
