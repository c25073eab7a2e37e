"""What `zoo data` does with texts and captions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli.output import complain, counted, print_json

if TYPE_CHECKING:
    from netdsl.data.sources.source_name import SourceName


def convert_text(source: SourceName, target: str, as_json: bool) -> None:
    """Write a text as streams in HDF5, and print what was written."""
    from netdsl.data.writing.streams import write_text_streams

    report = write_text_streams(source, Path(target))
    if report.left_out:
        complain(f"left out: the last {report.left_out:,}, too few for a step of all streams")
    if as_json:
        print_json(asdict(report))
        return
    streams = counted(report.streams, "stream")
    click.echo(f"{report.steps:,} steps of {streams} written, {report.characters:,} characters in the alphabet")


def convert_captions(source: SourceName, target: str, seed: int | None, *, skip_bad: bool, as_json: bool) -> None:
    """Write captions as streams in HDF5 with the list of their images, and print what was written."""
    from netdsl.data.writing.streams import write_caption_streams

    report = write_caption_streams(source, Path(target), seed, skip_bad=skip_bad)
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
