"""Errors and warnings about nets, data and training. The errors are part of the exception tree for Caffe's files."""

from __future__ import annotations

import re

from caffe_proto.errors import CaffeError, CaffeWarning


class NetError(CaffeError):
    """A net that can't be built. The message names the layer."""


class GraphError(NetError):
    """Blobs that don't connect: a bottom that no layer produces, or a top that two layers produce."""


class ShapeError(NetError):
    """Shapes that don't fit a layer."""


class UnknownLayerError(NetError):
    """An unknown layer type."""


class RegistryError(NetError):
    """A name that is already registered, or an extension that can't be loaded."""


class ConversionError(NetError):
    """A net that another format can't express, or one that computes something else there."""


class WeightsError(NetError):
    """Weights that don't fit a net."""


class SolverError(NetError):
    """Solver settings or a solver state that can't be used, or training that diverged."""


class DivergedError(SolverError):
    """A training whose losses or weights are no longer finite."""


class DataError(CaffeError):
    """Data that can't be read or don't fit a net. The message names the place.

    The message is always one line, even if names from a damaged file contain line breaks.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))


class StorageError(CaffeError):
    """A file or folder in a storage that can't be read. The message begins with its address."""


class NotStoredError(StorageError):
    """A file or folder that isn't in a storage."""


class ForeignFileError(CaffeError):
    """A file that a separate process couldn't open. It may have exceeded the limits of that process, or ended it."""


class DecoderError(CaffeError):
    """Settings of a decoder that are wrong, or a net's outputs that don't fit them. The message names the setting or
    the blob."""


class WeightsWarning(CaffeWarning):
    """Layers with parameters got no weights, so their training starts from scratch."""


class ShapeWarning(CaffeWarning):
    """The shapes of a net's data are guesses, because neither the net nor its data state them."""


class DialectWarning(CaffeWarning):
    """A layer means different things in different forks of Caffe, and the net doesn't name its fork."""


class GradientWarning(CaffeWarning):
    """Gradients or values differ from Caffe's because in-place layers overwrite blobs."""


class LabelWarning(CaffeWarning):
    """Labels that aren't whole numbers. Caffe drops their fractions."""


class DeviceWarning(CaffeWarning):
    """A net is on a different device from the requested one."""


class TrainingWarning(CaffeWarning):
    """A training continues, but not as its settings alone would suggest."""


class DeprecatedFormWarning(DeprecationWarning):
    """A call uses a form from an earlier release, which a later release will reject."""


class DataWarning(CaffeWarning):
    """Some data may be missing from the items that were read."""


class DistributedError(NetError):
    """Training with several workers that can't start or continue."""


class UnfitMachinesError(DistributedError):
    """A training that can't begin on its machines, because they differ or don't reach each other, or because some lack
    a file or a device."""


class PlanError(NetError):
    """A plan that can't be made, read or carried out."""


class MemoryBoundError(PlanError):
    """The values that must be in memory at the same time need more memory than there is."""


class PeerLostError(DistributedError):
    """Another worker has ended or hangs, so this round can't be finished. The round can be repeated."""


def first_line(problem: BaseException | None) -> str:
    """Return the first line of an exception's message, without torch's additions.

    Returns the exception's name if its message is empty.
    """
    return str(problem).splitlines()[0] if str(problem) else type(problem).__name__


class LayerNote(str):
    """A note on an exception from a user's own code. It names the layer that ran the code, and the line."""

    __slots__ = ()


def user_code_problem(problem: BaseException) -> str | None:
    """Return a sentence about an exception that a user's own code raised in a layer, or `None` for other exceptions."""
    note = next((note for note in getattr(problem, "__notes__", ()) if isinstance(note, LayerNote)), None)
    if note is None:
        return None
    reason = next(iter(str(problem).splitlines()), "")
    return f"{note}: {type(problem).__name__}{f': {reason}' if reason else ''}"


def range_problem(problem: BaseException) -> str | None:
    """Return a sentence about an index that a GPU found to be out of range, or `None` for other errors.

    A GPU doesn't report the index.
    """
    if not isinstance(problem, RuntimeError) or "device-side assert" not in str(problem):
        return None
    return "a label or an index is out of range; run the net on a CPU, where the error names the index and the layer"


_ALLOCATORS = re.compile(r"DefaultCPUAllocator|out of memory|not enough memory|Storage size calculation", re.IGNORECASE)
_LOADER = re.compile(r"failed to map segment|cannot allocate memory|cannot (create|map) ", re.IGNORECASE)
_ASKED = re.compile(r"(?i:tried to allocate) ([0-9.]+ ?\w+)")


def memory_shortage(problem: BaseException) -> str | None:
    """Return a sentence about numpy's, torch's or the system's lack of memory, or `None` for other errors."""
    text = str(problem)
    if isinstance(problem, ImportError) and _LOADER.search(text):
        return "there isn't enough memory to load a library; allow this program more, as with `ulimit -v unlimited`"
    if not isinstance(problem, MemoryError) and not (isinstance(problem, RuntimeError) and _ALLOCATORS.search(text)):
        return None
    asked = _ASKED.search(text)
    return f"there isn't enough memory{f' for {asked[1]} more' if asked else ''}; use a smaller batch"
