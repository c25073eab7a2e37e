"""Output of `zoo data`."""

from __future__ import annotations

from caffe_proto.errors import few
from caffe_proto.whole_numbers import whole_number
from netdsl.data.sources.summary import AnnotatedSummary, SourceSummary
from netdsl.data.writing.convert import ConversionReport
from netdsl.data.writing.convert_annotated import AnnotatedReport
from netdsl.data.writing.pose_database import PoseReport
from netdsl.data.writing.streams import CaptionReport, TextReport
from zoo.cli.output import complain, counted, print_line
from zoo.data_sets import Converted, MeanImage, ShownData
from zoo.requests.data import ConvertDataRequest, MeanRequest, ShowDataRequest

_SHOWN_SIZES = 3  # maximum number of image sizes to print
_SHOWN_CLASSES = 10  # maximum number of classes in a line
_SHOWN_SHAPES = 3


def show_converted(report: Converted, request: ConvertDataRequest) -> None:
    """Print a summary of the conversion."""
    match report:
        case ConversionReport():
            skipped = f", {counted(len(report.bad), 'damaged item')} skipped" if report.bad else ""
            print_line(f"{counted(report.written, 'item')} written{skipped}")
        case TextReport():
            streams = counted(report.streams, "stream")
            print_line(f"{report.steps:,} steps of {streams} written, {report.characters:,} characters in the alphabet")
        case CaptionReport():
            streams = counted(report.streams, "stream")
            print_line(f"{report.captions:,} captions written in {streams}, {report.words:,} words in the vocabulary")
        case AnnotatedReport():
            skipped = f", {counted(len(report.bad), 'damaged image')} skipped" if report.bad else ""
            images, objects = counted(report.written, "image"), counted(report.objects, "object")
            print_line(f"{images} with {objects} written{skipped}")
        case PoseReport():
            print_line(f"{counted(report.written, 'record')} written, one for each person, with {report.joints} joints")


def show_mean(mean: MeanImage, request: MeanRequest) -> None:
    """Print the mean of each channel."""
    print_line(f"mean of {mean.items:,} items of {' x '.join(map(str, mean.shape))}")
    for channel, value in enumerate(mean.channels):
        print_line(f"channel {channel}: {value:.6g}")


def show_data(shown: ShownData, request: ShowDataRequest) -> None:
    """Print the contents of a data set."""
    if isinstance(shown.summary, AnnotatedSummary):
        _print_annotated(shown.source, shown.summary)
    else:
        _print_summary(shown.source, shown.summary)
    if request.output:
        print_line(f"wrote {request.output}")


def _print_summary(source: str, summary: SourceSummary) -> None:
    items = counted(summary.items, "item")
    names = f", {len(summary.classes)} classes ({few(summary.classes, _SHOWN_CLASSES)})" if summary.classes else ""
    print_line(f"{source}: {items}{names}")
    for number, tops in enumerate(summary.arrays):
        shapes = few((" x ".join(map(str, shape)) or "one number" for shape in tops.shapes), _SHOWN_SHAPES)
        print_line(f"  array {number}: {shapes}, {', '.join(tops.types)}")
    if summary.labels:
        print_line(f"labels of {summary.seen:,} of them:")
    for label, count in summary.labels.items():
        place = whole_number(label, 0, len(summary.classes) - 1)
        name = "" if place is None else summary.classes[place]
        print_line(f"  {label:>6}  {count:,}  {name}".rstrip())


def _print_annotated(source: str, summary: AnnotatedSummary) -> None:
    objects = f"{counted(summary.objects, 'object')} of {len(summary.classes)} classes"
    names = "" if summary.objects else f" ({few((each.name for each in summary.classes), _SHOWN_CLASSES)})"
    print_line(f"{source}: {counted(summary.images, 'image')}, {objects}{names}")
    sizes = few((f"{size.height} x {size.width} ({size.images:,})" for size in summary.sizes), _SHOWN_SIZES)
    print_line(f"  sizes: {sizes or 'none'}")
    if summary.objects:
        _print_boxes(summary)
    if summary.class_maps:
        print_line(f"  with maps of classes: {counted(summary.class_maps, 'image')}")
    if summary.objects and summary.without_objects:
        print_line(f"  without objects: {counted(summary.without_objects, 'image')}")
    if summary.bad:
        complain(f"{counted(len(summary.bad), 'image')} can't be read; the first: {summary.bad[0]}")


def _print_boxes(summary: AnnotatedSummary) -> None:
    for name in summary.classes:
        print_line(f"  {name.boxes:>8,}  {name.name}, in {counted(name.images, 'image')}")
    print_line(f"  boxes: {summary.small:,} small, {summary.medium:,} medium, {summary.large:,} large")
    counts = {
        "difficult": summary.difficult,
        "truncated": summary.truncated,
        "crowds": summary.crowds,
        "with masks": summary.with_masks,
        "with joints": summary.with_joints,
        "partly outside": summary.outside,
        "without area": summary.without_area,
    }
    print_line(
        f"  of these: {few((f'{count:,} {name}' for name, count in counts.items() if count), len(counts)) or '-'}"
    )
