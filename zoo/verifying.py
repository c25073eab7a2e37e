"""Comparison of two models, for `zoo verify`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from converters.compare import Comparable, Comparison, compare, open_comparable
from zoo.requests.events import Listen, work
from zoo.requests.exporting import VerifyRequest
from zoo.requests.request import answers
from zoo.requests.results import MERGED, KnowsData


@dataclass(frozen=True)
class Verified:
    """Whether two models compute the same values, the differences of their blobs, and the shapes of each model's
    data."""

    same: bool
    comparison: Comparison = field(metadata=MERGED)
    models: tuple[KnowsData, KnowsData]

    @property
    def good(self) -> bool:
        """Whether the two models compute the same values."""
        return self.same


@answers(VerifyRequest)
def verify(request: VerifyRequest, listen: Listen) -> Verified:
    """Run two models on the same random inputs, and compare their blobs."""
    first, second = (_opened(files, request, listen) for files in (request.first, request.second))
    comparison = compare(first.model, second.model, seed=request.seed, work=partial(work, listen))
    same = comparison.worst_output <= request.tolerance
    return Verified(same, comparison, (KnowsData(data=first.data), KnowsData(data=second.data)))


def _opened(files: str, request: VerifyRequest, listen: Listen) -> Comparable:
    with work(listen, f"reading {files}"):
        return open_comparable(files, shapes=request.assume, dialect=request.dialect)
