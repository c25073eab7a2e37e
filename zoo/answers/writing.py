"""Answers as text: readable blocks, lines of JSON, or the rows of a CSV."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from io import StringIO
from typing import Any

from netdsl.model.data_shapes import DataShape, plain_data
from zoo.answers.answer import Boxes, Captions, Classes, ImageAnswer, Number, Segments, Values, as_plain
from zoo.answers.readers import CaptionReader, ClassReader, OutputReader, ScalarReader, SegmentReader, ValueReader

_SHOWN = 8  # maximum number of values to print
_BOX = ("label", "name", "score", "left", "top", "right", "bottom")


class AnswerForm(Enum):
    """The format of written answers. The values are file suffixes."""

    TEXT = "txt"
    JSON = "jsonl"
    CSV = "csv"


def form_of(name: str) -> AnswerForm | None:
    """Return the format for a file name, or `None` for another kind of file."""
    ending = name.rpartition(".")[2].lower()
    return AnswerForm.JSON if ending == "json" else next((form for form in AnswerForm if form.value == ending), None)


def head(form: AnswerForm, reads: type[OutputReader]) -> str:
    """Return the header that comes before the answers of a reader."""
    return _csv_rows([(*_csv_columns(reads), "error")]) if form is AnswerForm.CSV else ""


def text_of(answer: ImageAnswer, form: AnswerForm, reads: type[OutputReader], data: Mapping[str, DataShape]) -> str:
    """Return one answer with its line ends. JSON includes the shapes of the net's data."""
    match form:
        case AnswerForm.JSON:
            return json.dumps({**as_plain(answer), **plain_data(data)}, ensure_ascii=False, allow_nan=False) + "\n"
        case AnswerForm.CSV:
            return _csv_text(answer, reads)
        case AnswerForm.TEXT:
            return _text_block(answer)


def _csv_text(answer: ImageAnswer, reads: type[OutputReader]) -> str:
    if answer.problem:
        return _csv_rows([(answer.image, *[""] * (len(_csv_columns(reads)) - 1), answer.problem)])
    return _csv_rows([(answer.image, *row, "") for row in _csv_cells(answer)])


def _csv_rows(rows: Iterable[Sequence[Any]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _csv_columns(reads: type[OutputReader]) -> tuple[str, ...]:
    """Return the columns of a CSV. Every answer has a row for each class, box or segment."""
    columns = {
        ClassReader: ("rank", "label", "name", "score"),
        SegmentReader: ("label", "name", "share"),
        ScalarReader: ("value",),
        ValueReader: ("values",),
        CaptionReader: ("rank", "caption", "score"),
    }
    return "image", *columns.get(reads, _BOX)


def _csv_cells(answer: ImageAnswer) -> list[tuple[Any, ...]]:
    match answer.answer:
        case Classes(best):
            return [(rank, each.label, each.name, each.score) for rank, each in enumerate(best, 1)]
        case Boxes(found):
            return [(box.label, box.name, box.score, *box.corners) for box in found]
        case Segments(found):
            return [(each.label, each.name, each.share) for each in found]
        case Number(value):
            return [(value,)]
        case Values(values):
            return [(" ".join(map(repr, values.ravel().tolist())),)]
        case Captions(best):
            return [(rank, str(each), math.exp(each.log_likelihood)) for rank, each in enumerate(best, 1)]
    return []


def _text_block(answer: ImageAnswer) -> str:
    """Return a line with the image's name and size, followed by indented lines with the answer."""
    size = "" if answer.size is None else f"  {answer.size.width} x {answer.size.height}"
    lines = [answer.problem] if answer.problem else list(_answer_lines(answer))
    return "".join([f"{_printable_name(answer.image)}{size}\n", *(f"  {line}\n" for line in lines)])


def _printable_name(name: str) -> str:
    """Return a name without characters that move a terminal's cursor."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name)


def _answer_lines(answer: ImageAnswer) -> Iterable[str]:
    match answer.answer:
        case Classes(best):
            return [f"{each.score:9.4f}  {each.name}" for each in best]
        case Boxes(found):
            boxes = (f"{box.score:9.4f}  {box.name}  {_corners_text(box.corners)}" for box in found)
            return list(boxes) or ["nothing"]
        case Segments(found):
            return [f"{each.share:8.1%}  {each.name}" for each in found]
        case Number(value):
            return [f"{value:.6g}"]
        case Values(values):
            shown = " ".join(f"{value:.4g}" for value in values.ravel()[:_SHOWN])
            return [f"{'x'.join(map(str, values.shape))} values: {shown}{' ...' if values.size > _SHOWN else ''}"]
        case Captions(best):
            return [f"{math.exp(each.log_likelihood):9.3g}  {each}" for each in best]
    return []


def _corners_text(corners: Sequence[float]) -> str:
    left, top, right, bottom = (round(value) for value in corners)
    return f"from {left},{top} to {right},{bottom}"
