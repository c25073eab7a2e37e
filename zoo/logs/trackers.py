"""Listeners that log a training run for viewers: TensorBoard and MLflow."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from caffe_proto.errors import FileError, import_extra
from netdsl.errors import first_line
from netdsl.solver.events import Event, SnapshotSaved, TestFinished, TrainingProgress, as_numbers

FROM_ENVIRONMENT = "auto"  # an address that means MLFLOW_TRACKING_URI, or MLflow's own default
# MLflow's defaults if the environment sets none, so that an unreachable server delays training only a little
_SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",  # a folder, which needs no server
}
_EXPERIMENT = "MLFLOW_EXPERIMENT_NAME"
_LONGEST = 500  # maximum length of a parameter in MLflow
_NOT_IN_NAMES = re.compile(r"[^\w\-. /]")
_BATCH = 100  # maximum number of parameters in a call to MLflow


class TensorBoardWriter:
    """A listener that writes the events of a solver to a folder for TensorBoard."""

    def __init__(self, folder: str | Path) -> None:
        self._writer = _tensorboard().SummaryWriter(str(folder))

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


def _tensorboard() -> Any:
    return import_extra("tensorboardX", "logs", "TensorBoard's logs need tensorboardX")


class MlflowWriter:
    """A listener that logs the events of a solver as an MLflow run, and the last model when training ends.

    Raises an error if MLflow can't be reached at the beginning. Later failures are reported once, and training
    continues.
    """

    def __init__(
        self,
        address: str,
        name: str,
        parameters: Mapping[str, str],
        note: Callable[[str], object] = lambda text: None,
    ) -> None:
        self._library, self._note = _mlflow(), note
        self._model: Path | None = None
        try:
            self._client = self._library.MlflowClient(None if address == FROM_ENVIRONMENT else address)
            run = self._client.create_run(self._experiment(), run_name=name)
            self._run: str = run.info.run_id
            self._write_parameters(parameters)
        except Exception as problem:  # MLflow also raises exceptions of the libraries that it uses
            raise FileError(
                f"MLflow at {address}: the server or folder can't be written to: {first_line(problem).strip()}; "
                "check the address and that the server runs"
            ) from None
        self._is_lost = False

    def _experiment(self) -> str:
        name = os.environ.get(_EXPERIMENT, "netdsl")
        found = self._client.get_experiment_by_name(name)
        experiment: str = self._client.create_experiment(name) if found is None else found.experiment_id
        return experiment

    def _write_parameters(self, parameters: Mapping[str, str]) -> None:
        kind = self._library.entities.Param
        params = [kind(_metric_name(name), value[:_LONGEST]) for name, value in parameters.items()]
        for start in range(0, len(params), _BATCH):
            self._client.log_batch(self._run, params=params[start : start + _BATCH])

    def __call__(self, event: Event) -> None:
        """Write an event."""
        match event:
            case TrainingProgress():
                values = {"loss": event.loss, "rate": event.rate, **as_numbers(event.outputs)}
                self._write_metrics("train", values, event.iteration)
            case TestFinished():
                loss = {} if event.loss is None else {"loss": event.loss}
                self._write_metrics(f"test{event.net or ''}", {**loss, **as_numbers(event.outputs)}, event.iteration)
            case SnapshotSaved():
                self._model = event.model

    def _write_metrics(self, group: str, values: Mapping[str, float], iteration: int) -> None:
        kind, now = self._library.entities.Metric, int(1000 * time.time())
        metrics = [kind(_metric_name(f"{group}/{name}"), value, now, iteration) for name, value in values.items()]
        self._write_unless_lost(lambda: self._client.log_batch(self._run, metrics=metrics))

    def _write_unless_lost(self, write: Callable[[], object]) -> None:
        """Call `write`, unless MLflow has failed before. Report the first failure."""
        if self._is_lost:
            return
        try:
            write()
        except Exception as problem:  # training continues without its log, whatever the problem is
            self._is_lost = True
            self._note(f"MLflow: the log can't be written any more, but training continues: {first_line(problem)}")

    def close(self, status: str = "FINISHED") -> None:
        """Write the last saved model, and end the MLflow run."""
        model = self._model
        if model is not None and model.is_file():
            self._write_unless_lost(lambda: self._client.log_artifact(self._run, str(model)))
        self._write_unless_lost(lambda: self._client.set_terminated(self._run, status))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close("FINISHED" if kind is None else "FAILED" if issubclass(kind, Exception) else "KILLED")


def _metric_name(name: str) -> str:
    """Return a name that MLflow allows."""
    return _NOT_IN_NAMES.sub("_", name)


def _mlflow() -> Any:
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    return import_extra("mlflow", "mlflow", "writing to MLflow needs mlflow")
