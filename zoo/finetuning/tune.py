"""Fine-tuning for `zoo finetune`: start or resume it, train, and write the model."""

from __future__ import annotations

import shlex
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.run import Run
from netdsl.distributed.strategies.settings import parse
from netdsl.solver.events import Notice
from netdsl.training.backends import Backend
from zoo.devices import training_devices
from zoo.finetuning.fine_tune import default_output, first_run, train
from zoo.finetuning.request import EPOCHS, FineTuneRequest, Recipe
from zoo.finetuning.result import FineTuned
from zoo.finetuning.start import FineTuning, begin, holding, load
from zoo.requests.events import Listen, RunBegins, work
from zoo.requests.request import answers
from zoo.requests.training import TuneRequest
from zoo.training import backend_of, next_action


@answers(TuneRequest)
def tune(request: TuneRequest, listen: Listen) -> FineTuned | None:
    """Fine-tune a model to other data. Returns `None` if it was stopped, or if another process supervises this one."""
    backend = backend_of(request)
    output = Path(request.resume or request.output or default_output(str(request.model)))
    if not backend.supervises:
        return train(output, None, backend, folds=request.folds)
    with holding(output, backend, resumes=request.resume is not None, note=lambda text: listen(Notice(text))):
        with backend.leading(first_run(output, request.folds)):
            begun = load(output) if request.resume is not None else _start_fine_tuning(request, output, backend, listen)
        listen(RunBegins())
        tuned = train(
            output,
            begun,
            backend,
            listeners=[listen],
            on_fold=listen,
            requested=lambda: next_action(listen),
            command=request.command,
        )
    if tuned is None:
        listen(Notice(f"stopped; continue with `zoo finetune --resume {shlex.quote(str(output))}`"))
    return tuned


def _start_fine_tuning(request: TuneRequest, output: Path, backend: Backend, listen: Listen) -> tuple[FineTuning, Run]:
    """Start a fine-tuning, and report the facts about the model and the data."""
    epochs = EPOCHS if request.epochs is None else request.epochs
    asked = FineTuneRequest(
        str(request.model),
        str(request.data),
        output,
        tests=request.test_data,
        weights=request.weights,
        replaced=request.replaced,
        frozen=request.frozen,
        share=request.held_out,
        folds=request.folds,
        recipe=Recipe(epochs, request.batch, request.base_lr, request.seed),
        workers=request.workers,
        strategy=None if request.strategy is None else parse(request.strategy),
        patience=request.patience,
        command=shlex.join(request.command),
        dialect=request.dialect,
    )
    devices = training_devices(
        request.device,
        None,
        pb.SolverParameter(),
        backend.workers_here(request.workers.most if request.workers else None),
        remote=backend.on_other_machines,
        listen=listen,
    )
    with work(listen, "", 0) as advance:
        tuning, run = begin(asked, backend, devices, progress=advance)
    listen(tuning)
    return tuning, run
