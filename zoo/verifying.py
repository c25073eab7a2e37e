"""Comparison of two models, for `zoo verify`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from converters.compare import Comparable, Comparison, compare, files_of, open_comparable
from converters.running import TOLERANCE
from converters.targets.session import TOLERANCE as TARGET_TOLERANCE
from converters.targets.session import open_target_session
from converters.targets.target import target_of
from zoo.requests.events import Listen, work
from zoo.requests.exporting import VerifyRequest
from zoo.requests.request import answers
from zoo.requests.results import MERGED, KnowsData


@dataclass(frozen=True)
class Verified:
    """Whether two models compute the same values within a tolerance, the differences of their blobs, and the shapes of
    each model's data."""

    same: bool
    tolerance: float
    comparison: Comparison = field(metadata=MERGED)
    models: tuple[KnowsData, KnowsData]

    @property
    def good(self) -> bool:
        """Whether the two models compute the same values."""
        return self.same


@answers(VerifyRequest)
def verify(request: VerifyRequest, listen: Listen) -> Verified:
    """Run two models on the same random inputs, and compare their blobs."""
    first = _opened(request.first, request, listen)
    last = request.second or request.first
    target = None if request.runtime is None else target_of(request.runtime)
    if target is None:
        second, tolerance = _opened(last, request, listen), TOLERANCE
    else:
        with work(listen, f"reading {last}"):
            session = open_target_session(target, files_of(last))
        second, tolerance = Comparable(session, {}), TARGET_TOLERANCE
    adds_zeros = target is not None and target.adds_zeros
    comparison = compare(
        first.model, second.model, seed=request.seed, adds_zeros=adds_zeros, work=partial(work, listen)
    )
    if target is not None:
        comparison = replace(comparison, only=((), ()))  # the program returns only outputs
    tolerance = tolerance if request.tolerance is None else request.tolerance
    models = KnowsData(data=first.data), KnowsData(data=second.data)
    return Verified(comparison.worst_output <= tolerance, tolerance, comparison, models)


def _opened(files: str, request: VerifyRequest, listen: Listen) -> Comparable:
    with work(listen, f"reading {files}"):
        return open_comparable(files, shapes=request.assume, dialect=request.dialect)
