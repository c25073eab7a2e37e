"""What `zoo data` does with images whose objects are marked."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caffe_proto.errors import few
from zoo.cli.output import complain, counted, print_json
from zoo.cli.progress_bar import progress_bar

if TYPE_CHECKING:
    from netdsl.data.sources.source_name import SourceName
    from netdsl.data.sources.summary import AnnotatedSummary
    from netdsl.data.writing.convert import Conversion

_SHOWN = 3  # sizes of images
_NAMED = 10  # classes that a line names
_ON_SHEET = 25  # images


def convert_set(source: SourceName, target: str, settings: Conversion, as_json: bool) -> None:
    """Convert a set, and print what was written and what the target can't have."""
    from netdsl.data.writing.convert_annotated import PIXEL_TRAITS, convert_annotated, first_pixel_of

    data = source.open_marked(first_pixel=first_pixel_of(target))
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


def convert_people(source: SourceName, target: str, seed: int | None, *, skip_bad: bool, as_json: bool) -> None:
    """Write the people of a set as records of poses, and print what was written."""
    from netdsl.data.sources.poses import POSES
    from netdsl.data.writing.pose_database import PeopleOfSet, write_poses

    data, path = source.open_marked(), Path(target.removeprefix(f"{POSES}:"))
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


def show_set(source: SourceName, shown_as: str, sheet: str | None, count: int | None, as_json: bool) -> None:
    """Print the summary of a set, and draw a contact sheet of some images."""
    from caffe_proto.storage import write_pieces
    from netdsl.data.sources.summary import summarise_set

    data = source.open_marked()
    with progress_bar(len(data), "reading") as advance:
        summary = summarise_set(data, done=advance)
    if sheet:
        from netdsl.data.writing.contact_sheet import annotated_sheet

        write_pieces(sheet, [annotated_sheet(data, count or _ON_SHEET)])
    if as_json:
        print_json({"source": shown_as, **asdict(summary)})
        return
    _print(shown_as, summary)
    if sheet:
        click.echo(f"wrote {sheet}")


def _print(source: str, summary: AnnotatedSummary) -> None:
    objects = f"{counted(summary.objects, 'object')} of {len(summary.classes)} classes"
    names = "" if summary.objects else f" ({few((each.name for each in summary.classes), _NAMED)})"
    click.echo(f"{source}: {counted(summary.images, 'image')}, {objects}{names}")
    sizes = few((f"{size.height} x {size.width} ({size.images:,})" for size in summary.sizes), _SHOWN)
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
