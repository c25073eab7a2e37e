"""`zoo data`: show and convert data sets, and take their mean image."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caffe_proto.errors import few
from zoo.cli import options
from zoo.cli.output import complain, counted, print_json, progress_bar

if TYPE_CHECKING:
    from netdsl.data.sources.annotations.set_summary import AnnotatedSummary
    from netdsl.data.sources.summary import SourceSummary
    from netdsl.data.writing.annotated.convert_annotated import AnnotatedConversion
    from netdsl.data.writing.convert import Conversion

_SHOWN_SIZES = 3  # sizes of images
_ON_SHEET = 25  # images
_SHOWN_CLASSES = 10  # classes that a line names
_SHOWN_SHAPES = 3
_SOURCES = """\b
A data set is named by its path, or by its kind and path:
  lmdb:PATH  leveldb:PATH  hdf5:LIST?names=A,B  images:LIST?root=FOLDER
  folder:PATH (a folder for each class)
  mnist:FOLDER[:test]  cifar10:FOLDER[:test]  cifar100:FOLDER[:test]
  csv:PATH?label=NAME&columns=A,B  parquet:PATH?columns=A,B  arrow:PATH?columns=A,B
  netcdf:PATH?x=VARIABLE&y=VARIABLE  digits[:train|:test]
  shapes[:train|:test]?kinds=A,B
\b
Images with boxes, polygons or masks around objects:
  voc:FOLDER?set=NAME  coco:FILE?images=FOLDER  yolo:FOLDER?set=NAME
  labelme:FOLDER  maps:FOLDER  lmdb:PATH?first_pixel=N (of SSD's AnnotatedDatum)
  objects[:train|:test]?side=N&count=N&kinds=A,B  poses:PATH?joints=N
  people[:train|:test]?side=N&count=N
\b
Behind any name, ?part=test is every tenth item, ?part=train all others,
?items=FILE has the numbers of the items that count, one on each line, and
?classes=FILE the names of classes: one on each line, or a label map.
"""


@click.group("data", short_help="Show and convert data sets, and take their mean image.", epilog=_SOURCES)
def command() -> None:
    """Show data sets, convert them, and take their mean image."""


def _height_and_width(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    height, _, width = value.lower().partition("x")
    if not (height.isdecimal() and width.isdecimal() and int(height) and int(width)):
        raise click.BadParameter(f"'{value}' isn't like 256x256, height and width")
    return int(height), int(width)


@command.command("convert", short_help="Write a data set as LMDB, LevelDB, Parquet, Pascal VOC, COCO or YOLO.")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option(
    "--resize", "size", metavar="HxW", callback=_height_and_width, help="Bring all images to one height and width."
)
@click.option("--min-dim", type=click.IntRange(min=1), metavar="N", help="Enlarge images with objects, at least to N.")
@click.option("--max-dim", type=click.IntRange(min=1), metavar="N", help="Shrink images with objects, at most to N.")
@click.option("--encoded", type=click.Choice(["jpg", "png"]), help="Store image files rather than their pixels.")
@click.option("--gray", is_flag=True, help="Convert images to gray.")
@click.option("--shuffle", is_flag=True, help="Write the items in random order.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="The seed of the random order.",
)
@click.option("--skip-bad", is_flag=True, help=options.SKIP_BAD_HELP)
@options.as_json
def convert_command(
    source: str,
    target: str,
    size: tuple[int, int] | None,
    min_dim: int | None,
    max_dim: int | None,
    encoded: str | None,
    gray: bool,
    shuffle: bool,
    seed: int,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Write a data set as LMDB, LevelDB, Parquet or a folder of images for each class, all of it or nothing.

    The ending or the prefix of DST says which: train_lmdb, lmdb:PATH, train.parquet, leveldb:PATH, folder:PATH.
    Databases have Caffe's records, with the keys of convert_imageset.

    Images with objects are written as lmdb:PATH or leveldb:PATH of SSD's records with a label map, voc:FOLDER,
    coco:FILE.json with a folder of images beside it, yolo:FOLDER, or maps:FOLDER, which has a list of images and maps
    of classes. --min-dim enlarges images whose shorter side has fewer pixels, --max-dim shrinks those whose longer one
    has more.

    People with joints, such as those of COCO's person_keypoints files, are written as poses:PATH, an LMDB for CMU's
    pose nets with a record for each person.

    A text, text:FILE?streams=N&classes=LABELS, becomes a new folder DST with streams in HDF5 for recurrent nets:
    list.txt for HDF5Data with the tops data, cont and target, and labels.txt with the characters.

    Captions in COCO's form, captions:FILE.json?images=FOLDER&streams=N&steps=N&least=N&classes=LABELS, become such a
    folder as LRCN has it: list.txt for HDF5Data with the tops cont_sentence, input_sentence and target_sentence,
    images.txt for ImageData, and labels.txt with the words that are there `least` times, by default 5.
    """
    from netdsl.data.sources.annotations.open_annotated import names_annotated_set
    from netdsl.data.sources.annotations.pose_set import POSES
    from netdsl.data.writing.annotated.convert_annotated import AnnotatedConversion
    from netdsl.data.writing.caption_streams import PREFIX as CAPTIONS
    from netdsl.data.writing.convert import Conversion
    from netdsl.data.writing.encode import ImageFormat
    from netdsl.data.writing.text_streams import PREFIX as TEXT

    image_format, order = ImageFormat(encoded) if encoded else None, seed if shuffle else None
    changes_images = size or min_dim or max_dim or encoded or gray
    if source.startswith(CAPTIONS):
        if changes_images:
            raise click.UsageError(
                "images with captions stay as they are; of the other options --shuffle and --skip-bad"
            )
        _convert_captions(source, target, order, skip_bad=skip_bad, as_json=as_json)
    elif source.startswith(TEXT):
        if changes_images or shuffle or skip_bad:
            raise click.UsageError("a text is written as it is; the other options are for images and other items")
        _convert_text(source, target, as_json)
    elif names_annotated_set(source) and target.startswith(f"{POSES}:"):
        if changes_images:
            raise click.UsageError("images of people stay as they are; of the other options --shuffle and --skip-bad")
        _convert_people(source, target, order, skip_bad=skip_bad, as_json=as_json)
    elif names_annotated_set(source):
        if size and (min_dim or max_dim):
            raise click.UsageError("--resize has both sides, and --min-dim or --max-dim one of them: give one of these")
        marked = AnnotatedConversion(size, min_dim or 0, max_dim or 0, image_format, gray, order, skip_bad)
        _convert_set(source, target, marked, as_json)
    else:
        if min_dim or max_dim:
            raise click.UsageError("--min-dim and --max-dim are for images with objects; give --resize")
        _convert_items(source, target, Conversion(size, image_format, gray, order, skip_bad), as_json)


def _convert_items(source: str, target: str, settings: Conversion, as_json: bool) -> None:
    """Convert items such as images with a label, and print what was written."""
    from netdsl.data.sources.open_source import open_source
    from netdsl.data.transforms.decode import Color
    from netdsl.data.writing.annotated.convert_annotated import is_annotated_target
    from netdsl.data.writing.convert import convert
    from netdsl.errors import DataError

    if is_annotated_target(target):
        raise DataError(f"{target}: only images with marked objects can be written so; {source} has none")
    color = Color.GRAY if settings.gray else Color.AS_STORED
    with closing(open_source(source, color=color)) as data, progress_bar(len(data), "converting") as advance:
        report = convert(data, target, settings, done=advance)
    for reason in report.bad:
        complain(f"skipped: {reason}")
    if as_json:
        print_json(asdict(report))
    else:
        skipped = f", {len(report.bad):,} bad ones skipped" if report.bad else ""
        click.echo(f"{report.written:,} items written{skipped}")


def _convert_text(source: str, target: str, as_json: bool) -> None:
    """Write a text as streams in HDF5, and print what was written."""
    from netdsl.data.writing.text_streams import TextSpec, write_text_streams

    report = write_text_streams(TextSpec.of(source), Path(target))
    if report.left_out:
        complain(f"left out: the last {report.left_out:,}, too few for a step of all streams")
    if as_json:
        print_json(asdict(report))
        return
    streams = counted(report.streams, "stream")
    click.echo(f"{report.steps:,} steps of {streams} written, {report.characters:,} characters in the alphabet")


def _convert_captions(source: str, target: str, seed: int | None, *, skip_bad: bool, as_json: bool) -> None:
    """Write captions as streams in HDF5 with the list of their images, and print what was written."""
    from netdsl.data.writing.caption_streams import CaptionSpec, write_caption_streams

    report = write_caption_streams(CaptionSpec.of(source), Path(target), seed, skip_bad=skip_bad)
    for reason in report.missing:
        complain(f"skipped: {reason}")
    if report.repeated:
        complain(f"{counted(report.repeated, 'caption')} written twice or more, so that all streams are as long")
    if report.cut:
        complain(f"cut: {counted(report.cut, 'caption')} of more words than steps")
    if as_json:
        print_json(asdict(report))
        return
    streams = counted(report.streams, "stream")
    click.echo(f"{report.captions:,} captions written in {streams}, {report.words:,} words in the vocabulary")


def _convert_set(source: str, target: str, settings: AnnotatedConversion, as_json: bool) -> None:
    """Convert a set, and print what was written and what the target can't have."""
    from netdsl.data.sources.annotations.open_annotated import open_annotated_set
    from netdsl.data.writing.annotated.convert_annotated import PIXEL_TRAITS, convert_annotated, first_pixel_of

    data = open_annotated_set(source, first_pixel=first_pixel_of(target))
    with progress_bar(len(data), "converting") as advance:
        report = convert_annotated(data, target, settings, done=advance)
    for reason in report.bad:
        complain(f"skipped: {reason}")
    for trait, count in report.left_out.items():
        hint = "; `maps:FOLDER` has the class of each pixel" if trait in PIXEL_TRAITS else ""
        complain(f"left out: {trait} ({count:,}), which {target} can't have{hint}")
    if as_json:
        print_json(asdict(report))
        return
    skipped = f", {counted(len(report.bad), 'bad one')} skipped" if report.bad else ""
    click.echo(f"{counted(report.written, 'image')} with {counted(report.objects, 'object')} written{skipped}")


def _convert_people(source: str, target: str, seed: int | None, *, skip_bad: bool, as_json: bool) -> None:
    """Write the people of a set as records of poses, and print what was written."""
    from netdsl.data.sources.annotations.open_annotated import open_annotated_set
    from netdsl.data.sources.annotations.pose_set import POSES
    from netdsl.data.writing.annotated.pose_database import PeopleOfSet, write_poses

    data, path = open_annotated_set(source), Path(target.removeprefix(f"{POSES}:"))
    with progress_bar(len(data), "reading") as advance:
        people = PeopleOfSet(data, skip_bad=skip_bad, done=advance)
    with progress_bar(len(people), "converting") as advance:
        report = write_poses(people, path, seed, skip_bad=skip_bad, done=advance)
    for reason in report.bad:
        complain(f"skipped: {reason}")
    if report.beside:
        why = "too few of them, too small, or too near to another"
        complain(f"with joints, but without a record of their own: {report.beside:,} ({why})")
    if as_json:
        print_json(asdict(report))
        return
    click.echo(f"{counted(report.written, 'record')} written, each of a person with {report.joints} joints")


@command.command("mean", short_help="Write the mean image, for mean_file and mean_value.")
@click.argument("source", metavar="SRC")
@click.argument("output", metavar="OUT.binaryproto")
@options.as_json
def mean_command(source: str, output: str, as_json: bool) -> None:
    """Write the mean of all images, for a net's mean_file, and print the mean of each channel, for its mean_value."""
    from netdsl.data.sources.open_source import open_source
    from netdsl.data.writing.mean_image import mean_image, write_mean

    with closing(open_source(source)) as data, progress_bar(len(data), "averaging") as advance:
        items, mean = len(data), mean_image(data, done=advance)
    write_mean(mean, output)
    channels = [float(value) for value in mean.mean((1, 2), dtype=float)]
    if as_json:
        print_json({"items": items, "shape": mean.shape, "channels": channels})
        return
    click.echo(f"mean of {items:,} items of {' x '.join(map(str, mean.shape))}")
    for channel, value in enumerate(channels):
        click.echo(f"channel {channel}: {value:.6g}")


@command.command("show", short_help="Show the number of items, their classes, shapes and labels.")
@click.argument("source", metavar="SRC")
@click.option(
    "-o",
    "--output",
    "--sheet",
    metavar="SHEET.png",
    help="Also write a contact sheet of the images with their labels, or with their boxes and masks.",
)
@click.option(
    "--count",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="How many items to look at; by default 64, or as many as there are classes with names.",
)
@click.option("--rgb", is_flag=True, help="Channels are red, green, blue, as in CIFAR, rather than Caffe's own order.")
@options.as_json
def show_command(source: str, output: str | None, count: int | None, rgb: bool, as_json: bool) -> None:
    """Show how many items a data set has, the names of its classes, and the shapes, types and labels of some items,
    of every class about as many. Of images with objects, show all sizes, and how many boxes each class has.
    """
    from netdsl.data.sources.annotations.open_annotated import names_annotated_set

    if names_annotated_set(source):
        _show_set(source, output, count, as_json)
        return
    from caffe_proto.storage import write_pieces
    from netdsl.data.sources.open_source import open_source
    from netdsl.data.sources.summary import example_items, summarise

    with progress_bar(doing="reading"), closing(open_source(source)) as data:
        items = example_items(data, count)
        summary = summarise(data, items)
    if output:
        from netdsl.data.writing.contact_sheet import contact_sheet

        write_pieces(output, [contact_sheet(items, summary.classes, rgb=rgb)])
    if as_json:
        print_json({"source": source, **asdict(summary)})
    else:
        _print_summary(source, summary, output)


def _print_summary(source: str, summary: SourceSummary, sheet: str | None) -> None:
    items = counted(summary.items, "item")
    names = f", {len(summary.classes)} classes ({few(summary.classes, _SHOWN_CLASSES)})" if summary.classes else ""
    click.echo(f"{source}: {items}{names}")
    for number, tops in enumerate(summary.arrays):
        shapes = few((" x ".join(map(str, shape)) or "one number" for shape in tops.shapes), _SHOWN_SHAPES)
        click.echo(f"  array {number}: {shapes}, {', '.join(tops.types)}")
    if summary.labels:
        click.echo(f"labels of {summary.seen:,} of them:")
    for label, count in summary.labels.items():
        name = summary.classes[int(label)] if label.isdecimal() and int(label) < len(summary.classes) else ""
        click.echo(f"  {label:>6}  {count:,}  {name}".rstrip())
    if sheet:
        click.echo(f"wrote {sheet}")


def _show_set(source: str, sheet: str | None, count: int | None, as_json: bool) -> None:
    """Print the summary of a set, and draw a contact sheet of some images."""
    from caffe_proto.storage import write_pieces
    from netdsl.data.sources.annotations.open_annotated import open_annotated_set
    from netdsl.data.sources.annotations.set_summary import summarise_set

    data = open_annotated_set(source)
    with progress_bar(len(data), "reading") as advance:
        summary = summarise_set(data, done=advance)
    if sheet:
        from netdsl.data.writing.annotated.annotated_sheet import annotated_sheet

        write_pieces(sheet, [annotated_sheet(data, count or _ON_SHEET)])
    if as_json:
        print_json({"source": source, **asdict(summary)})
        return
    _print_annotated(source, summary)
    if sheet:
        click.echo(f"wrote {sheet}")


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
