"""What `zoo data` does with texts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from zoo.cli.output import complain, counted, print_json


def convert_text(source: str, target: str, as_json: bool) -> None:
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
