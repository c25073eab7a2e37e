"""Output of `zoo data`."""

from __future__ import annotations

import click

from caffe_proto.errors import few
from caffe_proto.whole_numbers import whole_number
from netdsl.data.sources.summary import AnnotatedSummary, SourceSummary
from netdsl.data.writing.convert import ConversionReport
from netdsl.data.writing.convert_annotated import AnnotatedReport
from netdsl.data.writing.pose_database import PoseReport
from netdsl.data.writing.streams import CaptionReport, TextReport
from zoo.cli.output import complain, counted
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
            click.echo(f"{counted(report.written, 'item')} written{skipped}")
        case TextReport():
            streams = counted(report.streams, "stream")
            click.echo(f"{report.steps:,} steps of {streams} written, {report.characters:,} characters in the alphabet")
        case CaptionReport():
            streams = counted(report.streams, "stream")
            click.echo(f"{report.captions:,} captions written in {streams}, {report.words:,} words in the vocabulary")
        case AnnotatedReport():
            skipped = f", {counted(len(report.bad), 'damaged image')} skipped" if report.bad else ""
            images, objects = counted(report.written, "image"), counted(report.objects, "object")
            click.echo(f"{images} with {objects} written{skipped}")
        case PoseReport():
            click.echo(f"{counted(report.written, 'record')} written, one for each person, with {report.joints} joints")


def show_mean(mean: MeanImage, request: MeanRequest) -> None:
    """Print the mean of each channel."""
    click.echo(f"mean of {mean.items:,} items of {' x '.join(map(str, mean.shape))}")
    for channel, value in enumerate(mean.channels):
        click.echo(f"channel {channel}: {value:.6g}")


def show_data(shown: ShownData, request: ShowDataRequest) -> None:
    """Print the contents of a data set."""
    if isinstance(shown.summary, AnnotatedSummary):
        _print_annotated(shown.source, shown.summary)
    else:
        _print_summary(shown.source, shown.summary)
    if request.output:
        click.echo(f"wrote {request.output}")


def _print_summary(source: str, summary: SourceSummary) -> None:
    items = counted(summary.items, "item")
    names = f", {len(summary.classes)} classes ({few(summary.classes, _SHOWN_CLASSES)})" if summary.classes else ""
    click.echo(f"{source}: {items}{names}")
    for number, tops in enumerate(summary.arrays):
        shapes = few((" x ".join(map(str, shape)) or "one number" for shape in tops.shapes), _SHOWN_SHAPES)
        click.echo(f"  array {number}: {shapes}, {', '.join(tops.types)}")
    if summary.labels:
        click.echo(f"labels of {summary.seen:,} of them:")
    for label, count in summary.labels.items():
        place = whole_number(label, 0, len(summary.classes) - 1)
        name = "" if place is None else summary.classes[place]
        click.echo(f"  {label:>6}  {count:,}  {name}".rstrip())


def _print_annotated(source: str, summary: AnnotatedSummary) -> None:
    objects = f"{counted(summary.objects, 'object')} of {len(summary.classes)} classes"
    names = "" if summary.objects else f" ({few((each.name for each in summary.classes), _SHOWN_CLASSES)})"
    click.echo(f"{source}: {counted(summary.images, 'image')}, {objects}{names}")
    sizes = few((f"{size.height} x {size.width} ({size.images:,})" for size in summary.sizes), _SHOWN_SIZES)
    click.echo(f"  sizes: {sizes or 'none'}")
    if summary.objects:
        _print_boxes(summary)
    if summary.class_maps:
        click.echo(f"  with maps of classes: {counted(summary.class_maps, 'image')}")
    if summary.objects and summary.without_objects:
        click.echo(f"  without objects: {counted(summary.without_objects, 'image')}")
    if summary.bad:
        complain(f"{counted(len(summary.bad), 'image')} can't be read; the first: {summary.bad[0]}")


def _print_boxes(summary: AnnotatedSummary) -> None:
    for name in summary.classes:
        click.echo(f"  {name.boxes:>8,}  {name.name}, in {counted(name.images, 'image')}")
    click.echo(f"  boxes: {summary.small:,} small, {summary.medium:,} medium, {summary.large:,} large")
    counts = {
        "difficult": summary.difficult,
        "truncated": summary.truncated,
        "crowds": summary.crowds,
        "with masks": summary.with_masks,
        "with joints": summary.with_joints,
        "partly outside": summary.outside,
        "without area": summary.without_area,
    }
    click.echo(
        f"  of these: {few((f'{count:,} {name}' for name, count in counts.items() if count), len(counts)) or '-'}"
    )
