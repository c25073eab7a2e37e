"""What `zoo data` does with images whose objects are marked."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from caffe_proto.errors import few
from zoo.cli.output import complain, counted, print_json
from zoo.cli.progress_bar import progress_bar

if TYPE_CHECKING:
    from netdsl.data.sources.annotations.set_summary import AnnotatedSummary
    from netdsl.data.writing.annotated.convert_annotated import AnnotatedConversion

_SHOWN = 3  # sizes of images
_ON_SHEET = 25  # images


def convert_set(source: str, target: str, settings: AnnotatedConversion, as_json: bool) -> None:
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


def show_set(source: str, sheet: str | None, count: int | None, as_json: bool) -> None:
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
    _print(source, summary)
    if sheet:
        click.echo(f"wrote {sheet}")


def _print(source: str, summary: AnnotatedSummary) -> None:
    objects = f"{counted(summary.objects, 'object')} of {len(summary.classes)} classes"
    click.echo(f"{source}: {counted(summary.images, 'image')}, {objects}")
    sizes = few((f"{size.height} x {size.width} ({size.images:,})" for size in summary.sizes), _SHOWN)
    click.echo(f"  sizes: {sizes or 'none'}")
    for name in summary.classes:
        click.echo(f"  {name.boxes:>8,}  {name.name}, in {counted(name.images, 'image')}")
    click.echo(f"  boxes: {summary.small:,} small, {summary.medium:,} medium, {summary.large:,} large")
    counts = {
        "difficult": summary.difficult,
        "truncated": summary.truncated,
        "crowds": summary.crowds,
        "with masks": summary.with_masks,
        "partly outside": summary.outside,
        "without area": summary.without_area,
    }
    click.echo(
        f"  of these: {few((f'{count:,} {name}' for name, count in counts.items() if count), len(counts)) or '-'}"
    )
    if summary.class_maps:
        click.echo(f"  with maps of classes: {counted(summary.class_maps, 'image')}")
    if summary.without_objects:
        click.echo(f"  without objects: {counted(summary.without_objects, 'image')}")
    if summary.bad:
        complain(f"{counted(len(summary.bad), 'image')} can't be read; the first: {summary.bad[0]}")
