"""Answers as text: readable blocks, lines of JSON, or the rows of a CSV."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from io import StringIO
from typing import Any

from caffe_proto.shown_text import shown
from netdsl.errors import NetError
from netdsl.model.data_shapes import DataShape, plain_data
from netdsl.prediction.decoders.decoder import Embedding, People, Picture, Points, Text
from zoo.answers.answer import (
    Answer,
    Box,
    Boxes,
    Captions,
    Classes,
    ImageAnswer,
    NamedPoint,
    Number,
    Numbers,
    PointsAndTraits,
    Segments,
    Several,
    Subjects,
    Traits,
    Values,
    as_plain,
    norm_of,
    people_of,
    points_of,
)

_SHOWN = 8  # maximum number of values to print
_COLUMNS: Mapping[type, tuple[str, ...]] = {
    Classes: ("rank", "label", "name", "score"),
    Boxes: ("label", "name", "score", "left", "top", "right", "bottom"),
    Segments: ("label", "name", "share"),
    Number: ("value",),
    Values: ("values",),
    Embedding: ("values",),
    Captions: ("rank", "caption", "score"),
    Points: ("name", "x", "y", "score"),
    People: ("person", "name", "x", "y", "score"),
    Text: ("text",),
}


class AnswerForm(Enum):
    """The format of written answers. The values are file suffixes."""

    TEXT = "txt"
    JSON = "jsonl"
    CSV = "csv"


def form_of(name: str) -> AnswerForm | None:
    """Return the format for a file name, or `None` for another kind of file."""
    ending = name.rpartition(".")[2].lower()
    return AnswerForm.JSON if ending == "json" else next((form for form in AnswerForm if form.value == ending), None)


def head(form: AnswerForm, answers: type) -> str:
    """Return the header that comes before answers of a type."""
    return _csv_rows([(*_csv_columns(answers), "error")]) if form is AnswerForm.CSV else ""


def text_of(answer: ImageAnswer, form: AnswerForm, answers: type, data: Mapping[str, DataShape]) -> str:
    """Return one answer with its line ends. JSON includes the shapes of the net's data."""
    match form:
        case AnswerForm.JSON:
            return json.dumps({**as_plain(answer), **plain_data(data)}, ensure_ascii=False, allow_nan=False) + "\n"
        case AnswerForm.CSV:
            return _csv_text(answer, answers)
        case AnswerForm.TEXT:
            return _text_block(answer)


def _csv_text(answer: ImageAnswer, answers: type) -> str:
    if answer.problem:
        return _csv_rows([(answer.image, *[""] * (len(_csv_columns(answers)) - 1), answer.problem)])
    return _csv_rows([(answer.image, *row, "") for row in _csv_cells(answer)])


def _csv_rows(rows: Iterable[Sequence[Any]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _csv_columns(answers: type) -> tuple[str, ...]:
    """Return the columns of a CSV. Every answer has a row for each class, box or segment."""
    if answers not in _COLUMNS:
        raise NetError(
            "CSV needs one kind of answer in rows, but the model's answers have several parts; use --json, or name one "
            "output with --blob"
        )
    return "image", *_COLUMNS[answers]


def _csv_cells(answer: ImageAnswer) -> list[tuple[Any, ...]]:
    match answer.answer:
        case Classes(best):
            return [(rank, each.label, each.name, each.score) for rank, each in enumerate(best, 1)]
        case Boxes(boxes):
            return [(box.label, box.name, box.score, *box.corners) for box in boxes]
        case Segments(segments):
            return [(each.label, each.name, each.share) for each in segments]
        case Number(value):
            return [(value,)]
        case Values(values) | Embedding(values):
            return [(" ".join(map(repr, values.ravel().tolist())),)]
        case Captions(captions):
            return [(rank, str(each), math.exp(each.log_likelihood)) for rank, each in enumerate(captions, 1)]
        case Points() as points:
            return [tuple(point) for point in points_of(points)]
        case People() as people:
            return [(person, *point) for person, points in enumerate(people_of(people), 1) for point in points]
        case Text() as text:
            return [(str(text),)]
    return []


def _text_block(answer: ImageAnswer) -> str:
    """Return a line with the image's name and size, followed by indented lines with the answer."""
    size = "" if answer.size is None else f"  {answer.size.width} x {answer.size.height}"
    lines = [answer.problem] if answer.problem else [*_answer_lines(answer.answer), *_further_lines(answer)]
    return "".join([f"{shown(answer.image)}{size}\n", *(f"  {line}\n" for line in lines)])


def _further_lines(answer: ImageAnswer) -> list[str]:
    """Return the line that compares an embedding, or that names the file of a picture or explains how to get one."""
    if answer.similarity is not None:
        image, distance, cosine = answer.similarity
        return [f"distance {distance:.4g} and cosine {cosine:.4f} to {shown(image)}"]
    if isinstance(answer.answer, Picture):
        return [f"wrote {answer.drawn}" if answer.drawn else "--draw FOLDER writes it as an image file"]
    return []


def _answer_lines(answer: Answer | None) -> list[str]:
    match answer:
        case Classes(best):
            return [f"{each.score:9.4f}  {each.name}" for each in best]
        case Boxes(boxes):
            return list(map(_box_text, boxes)) or ["nothing"]
        case Segments(segments):
            return [f"{each.share:8.1%}  {each.name}" for each in segments]
        case Number(value):
            return [f"{value:.6g}"]
        case Values(values):
            return [f"{'x'.join(map(str, values.shape))} values: {_first_values(values)}"]
        case Embedding(vector):
            return [f"embedding of {vector.size} values, norm {norm_of(answer):.4g}: {_first_values(vector)}"]
        case Captions(captions):
            return [f"{math.exp(each.log_likelihood):9.3g}  {each}" for each in captions]
        case Traits(traits):
            return [line for name, each in traits.items() for line in _part_lines(name, each)]
        case Several(by_blob):
            return [line for blob, each in by_blob.items() for line in _part_lines(blob, each)]
        case Subjects(found):
            parts = [[_box_text(each.box), *(f"  {line}" for line in _answer_lines(each.answer))] for each in found]
            return [line for part in parts for line in part] or ["nothing"]
        case Points():
            attributes = _answer_lines(answer.traits) if isinstance(answer, PointsAndTraits) else []
            return [*attributes, *(_point_text(point) for point in points_of(answer))]
        case People():
            people = zip(answer.totals.tolist(), people_of(answer), strict=True)
            persons = [[f"person {total:.4f}", *map(_point_text, points)] for total, points in people]
            return [line for person in persons for line in person] or ["nothing"]
        case Picture(pixels, kind):
            return [f"picture of {pixels.shape[2]} x {pixels.shape[1]} pixels, {kind.value}"]
        case Text():
            return [str(answer)]
    return []


def _part_lines(name: str, answer: Answer) -> list[str]:
    """Return the lines of a part of an answer, below its name."""
    return [f"{name}:", *(f"  {line}" for line in _answer_lines(answer))]


def _first_values(values: Numbers) -> str:
    shown = " ".join(f"{value:.4g}" for value in values.ravel()[:_SHOWN])
    return f"{shown}{' ...' if values.size > _SHOWN else ''}"


def _point_text(point: NamedPoint) -> str:
    score = "" if point.score is None else f"{point.score:9.4f}"
    return f"{score}  {point.name} at {point.x:.1f},{point.y:.1f}"


def _box_text(box: Box) -> str:
    return f"{box.score:9.4f}  {box.name}  {_corners_text(box.corners)}{_points_text(box)}"


def _points_text(box: Box) -> str:
    places = " ".join(f"{x:.0f},{y:.0f}" for x, y in box.points)
    return f"  with {places}" if places else ""


def _corners_text(corners: Sequence[float]) -> str:
    left, top, right, bottom = (round(value) for value in corners)
    return f"from {left},{top} to {right},{bottom}"
