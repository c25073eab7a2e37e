"""The writer of TensorBoard's event files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caffe_proto.errors import import_extra
from netdsl.solver.events import Event, TestFinished, TrainingProgress, as_numbers


class TensorBoardWriter:
    """A listener that writes the events of a solver to a folder for TensorBoard."""

    def __init__(self, folder: str | Path) -> None:
        self._writer = _library().SummaryWriter(str(folder))

    def __call__(self, event: Event) -> None:
        """Write an event."""
        if isinstance(event, TrainingProgress):
            self._scalars(
                "train", {"loss": event.loss, "rate": event.rate, **as_numbers(event.outputs)}, event.iteration
            )
        elif isinstance(event, TestFinished):
            loss = {} if event.loss is None else {"loss": event.loss}
            self._scalars(f"test{event.net or ''}", {**loss, **as_numbers(event.outputs)}, event.iteration)

    def _scalars(self, group: str, values: dict[str, float], iteration: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(f"{group}/{name}", value, iteration)

    def close(self) -> None:
        """Write what is buffered and close the file."""
        self._writer.close()


def _library() -> Any:
    return import_extra("tensorboardX", "logs", "TensorBoard's logs need tensorboardX")
