"""Output of `zoo opencv migrate`."""

from __future__ import annotations

from zoo.cli.output import complain, print_line
from zoo.migrating.migrate import Migration
from zoo.requests.exporting import MigrateRequest


def show_migration(migration: Migration, request: MigrateRequest) -> None:
    """Print the calls with their models, the calls that stay, and the patch."""
    for call in migration.calls:
        if call.model is not None:
            print_line(f"{call.file}:{call.line}: reads {call.model}, written to {call.written}")
    for reason in migration.failed:
        complain(reason)
    if not migration.calls:
        print_line("no source reads a Caffe model with OpenCV")
    if migration.patch is not None:
        print_line(f"wrote {migration.patch}; look at it, and apply it with: git apply {migration.patch}")
