"""Tests of a model on images with marked objects. They compare the model's answers with the marked objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet
from netdsl.data.sources.annotations.masks import UNKNOWN, class_map
from netdsl.errors import DataError
from netdsl.scores.boxes import DetectedBoxes, ObjectBoxes, areas
from netdsl.scores.coco import score_as_coco
from netdsl.scores.segmentation import SegmentationScores, count_confusions
from netdsl.scores.voc import judge_as_voc
from netdsl.solver.events import Listener, Notice
from zoo.answers.answer import AnswerSettings, Boxes, ImageAnswer, Segments
from zoo.answers.answerer import Answerer, answers_on
from zoo.answers.images import MarkedImages
from zoo.score_tables import ScoreTable, detection_table, segmentation_table

_MOST = 100  # maximum number of detections in an image, as in Faster R-CNN and COCO


@dataclass(frozen=True)
class MarkedTest:
    """A model, its test set, and a map from the model's labels to the set's."""

    answerer: Answerer
    marked: AnnotatedSet
    labels: Mapping[int, int]

    @classmethod
    def of(cls, answerer: Answerer, marked: AnnotatedSet, listen: Listener) -> MarkedTest:
        """Match classes by name, or by number if the model has no class names."""
        names = answerer.class_names
        places = {name: label for label, name in enumerate(marked.classes)}
        if not names:
            return cls(answerer, marked, dict(enumerate(range(len(marked.classes)))))
        for name in marked.classes[1:]:
            if name not in names:
                listen(Notice(f"the model doesn't have the class '{name}', so it can't find its objects"))
        labels = {label: places[name] for label, name in enumerate(names) if name in places}
        return cls(answerer, marked, labels)

    def table(self) -> ScoreTable:
        """Return the scores of all images."""
        if self.answerer.answers is Segments:
            return self._segmentation()
        if self.answerer.answers is Boxes:
            return self._detection()
        raise DataError(
            "the model neither detects nor segments objects; to test on images with marked objects, choose a "
            "detector of `zoo list`, or test on data with labels"
        )

    def _answers(self) -> Iterator[tuple[AnnotatedImage, ImageAnswer]]:
        source = MarkedImages(self.marked, self.answerer.preparation.color)
        settings = AnswerSettings(threshold=self.answerer.least_score)
        for index, answer in enumerate(answers_on(self.answerer, source, settings)):
            yield self.marked.image(index), answer

    def _detection(self) -> ScoreTable:
        detected, objects = list[DetectedBoxes](), list[ObjectBoxes]()
        for index, (image, answer) in enumerate(self._answers()):
            assert isinstance(answer.answer, Boxes)
            detected.append(self._detected(answer.answer).after(index))
            objects.append(_objects(image).after(index))
        all_detected, all_objects = DetectedBoxes.join(detected), ObjectBoxes.join(objects)
        judged = judge_as_voc(all_detected, all_objects, pixel=0)  # pixels on the edges of objects don't count
        coco = score_as_coco(all_detected, all_objects)
        return detection_table(self.answerer.blob, judged, coco, self.marked.classes)

    def _detected(self, boxes: Boxes) -> DetectedBoxes:
        """Return the most confident boxes whose classes are in the set."""
        known = [box for box in boxes.found if box.label in self.labels][:_MOST]
        return DetectedBoxes.of(np.array([(0, self.labels[box.label], box.score, *box.corners) for box in known]))

    def _segmentation(self) -> ScoreTable:
        classes = len(self.marked.classes)
        counts = np.zeros((classes, classes), np.int64)
        own_labels = np.zeros(256, np.int64)
        for label, place in self.labels.items():
            own_labels[label] = place
        for image, answer in self._answers():
            assert isinstance(answer.answer, Segments) and answer.placement is not None
            predicted = answer.placement.on_image(answer.answer.labels)
            marked = class_map(image)
            if marked is None:
                raise DataError(
                    f"{image.path}: the image has only boxes, but the model predicts the classes of pixels; choose "
                    "a detector or images with masks"
                )
            seen = np.where(predicted < 0, UNKNOWN, marked)
            counts += count_confusions(seen, own_labels[np.maximum(predicted, 0)], classes, (UNKNOWN,))
        return segmentation_table(self.answerer.blob, SegmentationScores(counts), self.marked.classes)


def _objects(image: AnnotatedImage) -> ObjectBoxes:
    """Return the objects of an image. As in COCO, the area of an object is that of its mask, if there is one."""
    objects = image.objects
    rows = np.array([(0, each.label, *each.edges) for each in objects], np.float64).reshape(-1, 6)
    pairs = zip(areas(rows[:, 2:]), objects, strict=True)
    return ObjectBoxes.of(
        rows,
        difficult=[each.difficult for each in objects],
        crowd=[each.crowd for each in objects],
        area=[float(area) if each.area is None else each.area for area, each in pairs],
    )
