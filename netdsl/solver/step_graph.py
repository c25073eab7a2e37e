"""Training steps that a GPU repeats as one CUDA graph: recorded once, then replayed on each batch."""

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

_WARM_UP = 3  # steps before a recording, in which libraries choose their algorithms and layers send their constants
_RECORDING = Lock()  # torch's rule: a process records one graph at a time, since to begin one waits for the whole GPU

Batch = Mapping[int, Tensor]
Repeat = Callable[[], Tensor]  # does a step, and returns its loss
_Conditions = Mapping[str, object]  # what a step depends on beside the values in memory, by its name


@dataclass(frozen=True)
class _Recording:
    """A recorded step, with the memory that it reads its batches from and writes what it tells to."""

    graph: torch.cuda.CUDAGraph
    conditions: _Conditions
    batches: Sequence[Batch]
    loss: Tensor
    outputs: Mapping[str, Tensor]

    def changed(self, conditions: _Conditions) -> str:
        """Return the first condition that isn't as it was; empty if all are."""
        return next((name for name, value in conditions.items() if value != self.conditions[name]), "")


class StepGraph:
    """Repeats a solver's steps on a GPU, without Python between their operations.

    `work` is a step: it runs the net on its next batches and updates the weights. Steps that can't be recorded, or that
    aren't as the recorded one was, are left to the solver, and `tell` is called once with each reason.
    """

    def __init__(self, net: ModuleNet, updater: Updater, work: Repeat, tell: Callable[[str], None]) -> None:
        self._net, self._updater, self._work, self._tell = net, updater, work, tell
        self._stream = torch.cuda.Stream(net.compute.device)  # type: ignore[no-untyped-call]
        self._recording: _Recording | None = None
        self._warmed_up = 0
        self._lasting, self._told = _lasting_obstacle(net), set[str]()

    @contextmanager
    def turn(self, obstacle: str) -> Iterator[Repeat | None]:
        """Inside is one step: what is to be called for it, or None if the solver has to run it itself.

        `obstacle` is why the solver has to, if it knows a reason.
        """
        self._net.last_outputs = {}  # what autograd keeps for them belongs to the stream of the last step
        obstacle = self._lasting or obstacle or _hook(self._net)
        if obstacle:
            self._tell_once(obstacle)
            yield None
            return
        batches = [self._net.next_batch() for _ in range(self._updater.param.iter_size)]
        with self._net.running_on(batches):
            if self._warmed_up < _WARM_UP:
                self._warmed_up += 1
                with self._aside():
                    yield None
            else:
                yield self._repeat(batches)

    def _repeat(self, batches: Sequence[Batch]) -> Repeat | None:
        """Return what repeats the recorded step on these batches; None if it would be another one."""
        conditions = _conditions(self._net, self._updater, batches)
        if self._recording is None:
            self._recording = self._record(batches, conditions)
        recording = self._recording
        changed = recording.changed(conditions)
        if changed:
            self._tell_once(f"since one was recorded, {changed} changed")
            return None

        def repeat() -> Tensor:
            for batch, place in zip(batches, recording.batches, strict=True):
                for edge, values in batch.items():
                    place[edge].copy_(values)
            recording.graph.replay()
            self._net.last_outputs = recording.outputs
            return recording.loss.clone()  # the next step writes over it

        return repeat

    def _record(self, batches: Sequence[Batch], conditions: _Conditions) -> _Recording:
        """Record a step, which does nothing yet."""
        places = [{edge: values.clone() for edge, values in batch.items()} for batch in batches]
        graph = torch.cuda.CUDAGraph()
        # Other threads, which pin memory for the next batches, aren't disturbed.
        recording = torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local")
        try:
            with self._aside(), self._net.running_on(places), _RECORDING, recording:
                loss = self._work()
        except (RuntimeError, CaffeError) as problem:
            # CUDA refuses to end a recording in which something failed.
            first = problem if isinstance(problem, CaffeError) else problem.__context__ or problem
            raise SolverError(
                f"a training step can't be recorded as a CUDA graph ({first}); train with --no-cuda-graph, in Python "
                "with Compute(cuda_graph=False)"
            ) from problem
        outputs = {name: values.detach() for name, values in self._net.last_outputs.items()}
        return _Recording(graph, conditions, places, loss, outputs)

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Inside, work goes to a stream of its own: torch asks for that where it records, and for the steps before."""
        usual = torch.cuda.current_stream(self._net.compute.device)
        self._stream.wait_stream(usual)
        with torch.cuda.stream(self._stream):
            yield
        usual.wait_stream(self._stream)

    def _tell_once(self, reason: str) -> None:
        if reason not in self._told:
            self._told.add(reason)
            self._tell(reason)


def step_graph(net: TrainableNet, updater: Updater, work: Repeat, tell: Callable[[str], None]) -> StepGraph | None:
    """Return what repeats the steps of a net's solver, if the net is on a GPU and that is wanted."""
    if isinstance(net, ModuleNet) and net.compute.cuda_graph and net.compute.device.type == "cuda":
        return StepGraph(net, updater, work, tell)
    return None


def _lasting_obstacle(net: ModuleNet) -> str:
    """Why no step of a net can be recorded; empty if all can."""
    if net.compute.compiled:
        return "torch compiles the net"
    reasons = ((layer.layer.name, layer.waits or layer.chooses) for layer in net.built.layers)
    return next((f"layer '{name}' {reason}" for name, reason in reasons if reason), "")


def _hook(net: ModuleNet) -> str:
    """Return a hook of the program's, which a replay wouldn't call."""
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
        "which blobs learn": [blob.requires_grad for blob in own],
        "the place of a blob in memory": [blob.data_ptr() for blob in chain(own, buffers)],
        "a setting of the solver": (param.weight_decay, param.regularization_type, param.clip_gradients),
    }
