"""Records of invented runs."""

from __future__ import annotations

from netdsl.distributed.run_log import Activity, RoundRecord, Span


def averaging(rounds: int = 4, workers: int = 3, *, begin: float = 1000.0, first: int = 1) -> list[RoundRecord]:
    """Return rounds of 5 seconds with 10 iterations each: worker r computes for 2 + r, waits for the last, and
    exchanges for 1.

    Instead of waiting, the first worker uses the last second for a test.
    """
    return [
        _averaged(number, rank, begin + 5 * (number - first), workers)
        for number in range(first, first + rounds)
        for rank in range(workers)
    ]


def _averaged(number: int, rank: int, start: float, workers: int) -> RoundRecord:
    computed, came = start + 2 + rank, start + 1 + workers
    spans = [Span(Activity.COMPUTE, start, computed), Span(Activity.EXCHANGE, computed, came + 0.5)]
    found = RoundRecord(number, rank, start, start + 5, 10 * number, 10, bytes=2_000_000, divergence=rank + 1 / number)
    found.compute, found.wait, found.exchange = 2.0 + rank, came - computed, 0.5
    if rank == 0:
        spans.append(Span(Activity.TEST, came + 0.5, start + 5))
        found.accuracy = {"accuracy": 1 - abs(3 - number) / 10, "loss": 1 / number}
    found.spans = spans
    return found


def shards(rounds: int = 6, workers: int = 3) -> list[RoundRecord]:
    """Return rounds in which a worker computes for 2 seconds while it reduces and broadcasts one of three shards."""
    return [_sharded(number, rank, 2.0 * number) for number in range(1, rounds + 1) for rank in range(workers)]


def _sharded(number: int, rank: int, start: float) -> RoundRecord:
    stop = start + 2
    spans = [
        Span(Activity.COMPUTE, start, stop),
        Span(Activity.REDUCE, start, start + 1.5, number % 3),
        Span(Activity.BROADCAST, start, start + 1, (number + 1) % 3),
    ]
    if rank == 0:
        spans.append(Span(Activity.PREPARE, start + 1.5, stop, number % 3))
    # The exchanges of its lanes, which are longer than a round.
    return RoundRecord(number, rank, start, stop, 4 * number, 4, 2.0, wait=1.5, exchange=1.0, spans=spans)
