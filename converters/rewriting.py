"""All rewrites that one asks for, one after the other, each proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from converters.formats import Precision
from converters.model import Model
from converters.rewrites.first_layer import Preparation, prepare_inside
from converters.rewrites.folding import fold_affine
from converters.rewrites.precision import rounded
from converters.rewrites.proof import Prepare, difference_after
from converters.rewrites.pruning import prune_to
from converters.rewrites.surgery import fully_convolutional
from netdsl.errors import ConversionError
from netdsl.layer.data import stated_shapes

TOLERANCE = 1e-4  # of the spread of an output: deep nets amplify what single precision rounds
_ROUNDED = {Precision.FLOAT16: 1e-2, Precision.BFLOAT16: 1e-1}  # and so they do with values of 11 bits, and of 8


@dataclass(frozen=True)
class Rewrites:
    """Which rewrites one asks for."""

    prune_to: str | None = None
    fold: bool = False
    swap: bool = False  # RGB for BGR
    mean: tuple[float, ...] = ()
    fully_convolutional: bool = False
    precision: Precision | None = None


@dataclass(frozen=True)
class Proof:
    """What was done, and how far outputs are from what they were and may be, in parts of how far they lie apart."""

    what: str
    difference: float | None  # None: it wasn't looked at
    tolerance: float


@dataclass(frozen=True)
class _Step:
    what: str
    rewrite: Callable[[Model], Model]
    prepare: Prepare | None = None
    end: str | None = None
    tolerance: float = TOLERANCE


def rewrite(
    model: Model, wanted: Rewrites, *, verified: bool = True, tolerance: float | None = None
) -> tuple[Model, list[Proof]]:
    """The rewritten model. An error if what should compute the same doesn't.

    Each rewrite has a tolerance of its own if none is given.
    """
    proofs = []
    for step in _steps(model, wanted):
        after, most = step.rewrite(model), step.tolerance if tolerance is None else tolerance
        found = difference_after(model, after, prepare=step.prepare, end=step.end) if verified else None
        if found is not None and found > most:
            differ = f"the outputs differ by {found:.1e} of their spread, more than {most:g}"
            raise ConversionError(f"{step.what}: {differ}, so it isn't done")
        proofs.append(Proof(step.what, found, most))
        model = after
    return model, proofs


def _steps(model: Model, wanted: Rewrites) -> Iterator[_Step]:
    """In an order in which none stands in another's way: layers that are folded away can't be pruned to."""
    if wanted.prune_to is not None:
        name = wanted.prune_to
        yield _Step(f"the net ends at layer '{name}'", lambda each: prune_to(each, name), end=name)
    if wanted.fold:
        yield _Step("normalisations and scales folded", fold_affine)
    if wanted.swap or wanted.mean:
        done = _preparation(model, wanted)
        what = [*(["BGR to RGB"] if wanted.swap else []), *(["mean subtracted"] if wanted.mean else [])]
        yield _Step(f"images: {', '.join(what)}", lambda each: prepare_inside(each, done), prepare=done)
    if wanted.fully_convolutional:
        yield _Step("fully connected layers as convolutions", fully_convolutional)
    if wanted.precision is not None:
        kind = wanted.precision
        text = f"weights rounded to {kind.name.lower()}, kept as float32"
        yield _Step(text, lambda each: rounded(each, kind), tolerance=_ROUNDED[kind])


def _preparation(model: Model, wanted: Rewrites) -> Preparation:
    """For as many channels as the net's image has."""
    shape = next((shape for layer in model.net.layer for shape in stated_shapes(layer)), ())
    if len(shape) < 2:
        raise ConversionError(f"net '{model.net.name}' doesn't begin with an image")
    return Preparation.of(shape[1], swapped=wanted.swap, mean=wanted.mean)
