"""What can be wrong with a net, below the one tree of exceptions that Caffe's files have."""

from __future__ import annotations

import re

from caffe_proto.errors import CaffeError


class NetError(CaffeError):
    """A net that can't be built; the message names the layer."""


class GraphError(NetError):
    """Blobs that don't connect: a bottom that nobody makes, a top that two make."""


class ShapeError(NetError):
    """Shapes that don't fit a layer."""


class UnknownLayerError(NetError):
    """A layer type that nobody knows."""


class RegistryError(NetError):
    """A name that is taken, or an extension that can't be loaded."""


class ConversionError(NetError):
    """A net that has no counterpart in another format, or one that doesn't compute the same."""


class WeightsError(NetError):
    """Weights that don't fit a net."""


class SolverError(NetError):
    """Settings of a solver, or a state of one, that don't work; or training that went wrong."""


class DataError(CaffeError):
    """Data that can't be read, or doesn't fit a net; the message says where it is.

    It is one line, also where names that a damaged file has are several.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))


class WeightsWarning(UserWarning):
    """Layers that learn got no weights, and begin from scratch."""


class ShapeWarning(UserWarning):
    """The shapes of a net's data are guesses, since nothing says them."""


class DialectWarning(UserWarning):
    """A layer means different things in forks of Caffe, and the net doesn't say which of them it is for."""


class GradientWarning(UserWarning):
    """Gradients, or values, that differ from Caffe's, where layers in place write over blobs."""


class LabelWarning(UserWarning):
    """Labels that aren't whole numbers, of which Caffe takes the whole part."""


class SettingError(CaffeError):
    """A variable of the environment has a value that doesn't exist."""


class DeviceWarning(UserWarning):
    """A net is on another device than the one that was asked for."""


class TrainingWarning(UserWarning):
    """A training goes on, but not as its settings alone would let a user expect."""


class DeprecatedFormWarning(DeprecationWarning):
    """A call is written in a form of an earlier release, which a later release will refuse."""


class DataWarning(UserWarning):
    """Data were read, but some of them may be missing."""


class DistributedError(NetError):
    """Training with several workers that can't begin or go on."""


class PlanError(NetError):
    """A plan that can't be made, read or followed."""


class MemoryBoundError(PlanError):
    """What must be in memory at once is more than there is."""


class PeerLostError(DistributedError):
    """Another worker ended or hangs, so that this round can't be finished; it can be done again."""


def first_line(problem: BaseException | None) -> str:
    """Return what an exception says, without what torch adds to it; its name if it says nothing."""
    return str(problem).splitlines()[0] if str(problem) else type(problem).__name__


class LayerNote(str):
    """A note on an exception that came from a user's own code: the layer that ran it, and the line of the code."""

    __slots__ = ()


def user_code_problem(problem: BaseException) -> str | None:
    """Return a sentence about an exception that came from a user's own code in a layer; None for others."""
    note = next((note for note in getattr(problem, "__notes__", ()) if isinstance(note, LayerNote)), None)
    if note is None:
        return None
    reason = next(iter(str(problem).splitlines()), "")
    return f"{note}: {type(problem).__name__}{f': {reason}' if reason else ''}"


def range_problem(problem: BaseException) -> str | None:
    """Return a sentence about a number that a GPU found out of range, without saying which; None for other errors."""
    if not isinstance(problem, RuntimeError) or "device-side assert" not in str(problem):
        return None
    return "a label or an index is out of range; on a CPU the error says which one, and of which layer"


_ALLOCATORS = re.compile(r"DefaultCPUAllocator|out of memory|not enough memory|Storage size calculation", re.IGNORECASE)
_ASKED = re.compile(r"(?i:tried to allocate) ([0-9.]+ ?\w+)")


def memory_shortage(problem: BaseException) -> str | None:
    """Return a sentence about an error of numpy's or torch's that there isn't enough memory; None for other errors."""
    text = str(problem)
    if not isinstance(problem, MemoryError) and not (isinstance(problem, RuntimeError) and _ALLOCATORS.search(text)):
        return None
    asked = _ASKED.search(text)
    return f"there isn't enough memory{f' for {asked[1]} more' if asked else ''}; a smaller batch takes less"
