"""LMDB and LevelDB of SSD's AnnotatedDatum records, with what SSD's own convert_annoset writes into them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.storage import write_pieces
from caffe_proto.text.prototxt import text_of
from netdsl.data.sources.annotations.marked_items import normalised_edges
from netdsl.data.sources.class_names import LABEL_MAP
from netdsl.data.writing.annotated.annotated_example import AnnotatedExample, Classes, PutAnnotated
from netdsl.data.writing.databases import PutRecord
from netdsl.data.writing.target import new_path

NAMES_AND_SIZES = "test_name_size.txt"  # for DetectionOutput's name_size_file
_BACKGROUND = "none_of_the_above"  # as SSD's label maps call it
_NO_LABEL = -1  # of an image, whose objects have labels
_LONGEST_KEY = 511  # LMDB's limit

RecordWriter = Callable[[Path], AbstractContextManager[PutRecord]]


@contextmanager
def annotated_database(records: RecordWriter, path: Path, classes: Classes) -> Iterator[PutAnnotated]:
    """A function that adds images to a new database. In its folder are a label map, and the names and sizes of images.

    The sizes are those that the boxes are parts of; names have no spaces there, which would end them.
    """
    lines: list[str] = []
    with new_path(path) as folder:
        with records(folder) as put_record:

            def put(example: AnnotatedExample) -> None:
                put_record(_key(example), annotated_datum(example).SerializeToString())
                image = example.image
                lines.append(f"{'_'.join(example.stem.split())} {image.height} {image.width}\n")

            yield put
        write_pieces(folder / LABEL_MAP, [text_of(label_map(classes)).encode()])
        write_pieces(folder / NAMES_AND_SIZES, ["".join(lines).encode("utf-8", "surrogateescape")])


def annotated_datum(example: AnnotatedExample) -> pb.AnnotatedDatum:
    """The record of an image: its bytes, and its objects by their classes, numbered within each.

    A crowd is difficult.
    """
    record = pb.AnnotatedDatum(type=pb.AnnotatedDatum.BBOX)
    record.datum.CopyFrom(pb.Datum(data=example.data, label=_NO_LABEL, encoded=True))
    if example.encoded_anew:
        record.datum.channels, record.datum.height, record.datum.width = example.channels, example.height, example.width
    groups: dict[int, pb.AnnotationGroup] = {}
    image, first_pixel = example.image, example.first_pixel
    for marked in image.objects:
        group = groups.get(marked.label)
        if group is None:
            group = groups[marked.label] = record.annotation_group.add(group_label=marked.label)
        xmin, ymin, xmax, ymax = normalised_edges(marked, image, first_pixel).tolist()
        difficult = marked.difficult or marked.crowd
        box = pb.NormalizedBBox(xmin=xmin, ymin=ymin, xmax=xmax, ymax=ymax, difficult=difficult)
        group.annotation.add(instance_id=len(group.annotation), bbox=box)
    return record


def label_map(classes: Classes) -> pb.LabelMap:
    """The numbers and names of classes as SSD's files have them."""
    items = [pb.LabelMapItem(name=name, label=label, display_name=name) for label, name in enumerate(classes)]
    items[0].name = _BACKGROUND
    return pb.LabelMap(item=items)


def _key(example: AnnotatedExample) -> bytes:
    """The key that convert_annoset makes: the position with eight digits, and the file of the image."""
    text = f"{example.position:08}_{example.image.name}.{example.ending}"
    return text.encode("utf-8", "surrogateescape")[:_LONGEST_KEY]
