"""Training steps that a GPU repeats as a CUDA graph. A step is recorded once, then replayed on each batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from threading import Lock

import torch
from torch import Tensor

from caffe_proto.errors import CaffeError
from netdsl.errors import SolverError
from netdsl.solver.trainable_net import ModuleNet, TrainableNet
from netdsl.solver.update import Updater

_WARM_UP = 3  # steps before a recording, while libraries choose their algorithms and layers send their constants
_RECORDING = Lock()  # torch's rule: one recording at a time in a process, since starting one waits for the whole GPU

Batch = Mapping[int, Tensor]
Repeat = Callable[[], Tensor]  # does a step and returns its loss
_Conditions = Mapping[str, object]  # the conditions of a step besides values in memory, by name


@dataclass(frozen=True)
class _Recording:
    """A recorded step, with the memory from which it reads its batches and to which it writes its results."""

    graph: torch.cuda.CUDAGraph
    conditions: _Conditions
    batches: Sequence[Batch]
    loss: Tensor
    outputs: Mapping[str, Tensor]

    def changed(self, conditions: _Conditions) -> str:
        """Return the first condition that has changed. Returns an empty string if none has."""
        return next((name for name, value in conditions.items() if value != self.conditions[name]), "")


class StepGraph:
    """Repeats a solver's steps on a GPU, without Python between their operations.

    `work` is a step, which runs the net on its next batches and updates the weights. The solver itself runs steps that
    can't be recorded or that differ from the recorded one. `tell` is called once with each reason.
    """

    def __init__(self, net: ModuleNet, updater: Updater, work: Repeat, tell: Callable[[str], None]) -> None:
        self._net, self._updater, self._work, self._tell = net, updater, work, tell
        self._stream = torch.cuda.Stream(net.compute.device)  # type: ignore[no-untyped-call]
        self._recording: _Recording | None = None
        self._warmed_up = 0
        self._lasting_reason, self._reported = _lasting_obstacle(net), set[str]()

    @contextmanager
    def turn(self, obstacle: str) -> Iterator[Repeat | None]:
        """Run one step inside the context. Yields a function that repeats it, or `None` if the solver must run it.

        `obstacle` is the reason that the solver must run the step, if there is one.
        """
        self._net.last_outputs = {}  # autograd's memory for them belongs to the stream of the last step
        obstacle = self._lasting_reason or obstacle or _hook(self._net)
        if obstacle:
            self._report_once(obstacle)
            yield None
            return
        batches = [self._net.next_batch() for _ in range(self._updater.param.iter_size)]
        with self._net.running_on(batches):
            if self._warmed_up < _WARM_UP:
                self._warmed_up += 1
                with self._own_stream():
                    yield None
            else:
                yield self._repeat(batches)

    def _repeat(self, batches: Sequence[Batch]) -> Repeat | None:
        """Return a function that repeats the recorded step on these batches, or `None` if the step has changed."""
        conditions = _conditions(self._net, self._updater, batches)
        if self._recording is None:
            self._recording = self._record(batches, conditions)
        recording = self._recording
        changed = recording.changed(conditions)
        if changed:
            self._report_once(f"{changed} changed since the step was recorded")
            return None

        def repeat() -> Tensor:
            for batch, place in zip(batches, recording.batches, strict=True):
                for edge, values in batch.items():
                    place[edge].copy_(values)
            recording.graph.replay()
            self._net.last_outputs = recording.outputs
            return recording.loss.clone()  # a copy, since the next step overwrites it

        return repeat

    def _record(self, batches: Sequence[Batch], conditions: _Conditions) -> _Recording:
        """Record a step without executing it."""
        places = [{edge: values.clone() for edge, values in batch.items()} for batch in batches]
        graph = torch.cuda.CUDAGraph()
        # This mode doesn't disturb other threads, which pin memory for the next batches.
        recording = torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local")
        try:
            with self._own_stream(), self._net.running_on(places), _RECORDING, recording:
                loss = self._work()
        except (RuntimeError, CaffeError) as problem:
            # If an operation fails, CUDA can't end the recording, and that second error hides the first.
            first = problem if isinstance(problem, CaffeError) else problem.__context__ or problem
            raise SolverError(
                f"a training step can't be recorded as a CUDA graph ({first}); train with --no-cuda-graph, or "
                "in Python with Compute(cuda_graph=False)"
            ) from problem
        outputs = {name: values.detach() for name, values in self._net.last_outputs.items()}
        return _Recording(graph, conditions, places, loss, outputs)

    @contextmanager
    def _own_stream(self) -> Iterator[None]:
        """Do the work inside the context on a separate stream. Torch requires that for a recording and for the steps
        before it."""
        usual = torch.cuda.current_stream(self._net.compute.device)
        self._stream.wait_stream(usual)
        with torch.cuda.stream(self._stream):
            yield
        usual.wait_stream(self._stream)

    def _report_once(self, reason: str) -> None:
        if reason not in self._reported:
            self._reported.add(reason)
            self._tell(reason)


def step_graph(net: TrainableNet, updater: Updater, work: Repeat, tell: Callable[[str], None]) -> StepGraph | None:
    """Return the step graph of a net's solver, or `None` if the net isn't on a GPU or graphs are disabled."""
    if isinstance(net, ModuleNet) and net.compute.cuda_graph and net.compute.device.type == "cuda":
        return StepGraph(net, updater, work, tell)
    return None


def _lasting_obstacle(net: ModuleNet) -> str:
    """Return why no step of a net can be recorded. Returns an empty string if steps can be recorded."""
    if net.compute.compiled:
        return "torch compiles the net"
    reasons = ((layer.layer.name, layer.waits or layer.chooses) for layer in net.built.layers)
    return next((f"layer '{name}' {reason}" for name, reason in reasons if reason), "")


def _hook(net: ModuleNet) -> str:
    """Return a sentence about a hook of the program, which a replay wouldn't call. Returns an empty string if there is
    none."""
    for layer in net.built.layers:
        of_blobs = [(blob._backward_hooks, blob._post_accumulate_grad_hooks) for blob in layer.blob_tensors()]
        if layer.has_hooks() or any(chain(*of_blobs)):
            return f"there is a hook on layer '{layer.layer.name}'"
    return ""


def _conditions(net: ModuleNet, updater: Updater, batches: Sequence[Batch]) -> _Conditions:
    layers, param = net.built.layers, updater.param
    every = chain.from_iterable((*layer._parameters.values(), *layer._buffers.values()) for layer in layers)
    own = [blob for blob in every if blob is not None]
    buffers = updater.weights.buffer, updater.gradients.buffer, *updater.histories
    return {
        "the batch's shape": [(edge, top.shape, top.dtype) for batch in batches for edge, top in batch.items()],
        "the phase of a layer": [layer.training for layer in layers],
        "the set of learned blobs": [blob.requires_grad for blob in own],
        "the address of a blob": [blob.data_ptr() for blob in chain(own, buffers)],
        "a setting of the solver": (param.weight_decay, param.regularization_type, param.clip_gradients),
    }
