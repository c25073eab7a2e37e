"""The counts of a server, as text for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from zoo.serving.clients import Places
from zoo.serving.refusals import Reason
from zoo.serving.settings import PREDICT

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_IMAGES = (1, 2, 4, 8, 16, 32, 64, 128)


class _Histogram:
    """The number of values up to each bound, and the sum of all values."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str) -> Iterator[str]:
        """Yield the histogram in Prometheus's format, in which each bound counts all smaller values."""
        total = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {total}"


class Metrics:
    """The counts of a server. Unknown paths are counted together, so that clients can't make the counts grow without
    limit."""

    def __init__(self, predictions: Places, connections: Places) -> None:
        self._predictions, self._connections = predictions, connections
        self._requests = Counter[tuple[str, int]]()
        self._refusals = Counter[str]({reason.label: 0 for reason in Reason})
        self._seconds, self._batches = _Histogram(_SECONDS), _Histogram(_IMAGES)

    def add_request(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests[path, status] += 1
        if path == PREDICT:
            self._seconds.add(seconds)

    def add_refusal(self, reason: Reason) -> None:
        """Count a refused request or a connection that ended early."""
        self._refusals[reason.label] += 1

    def add_batch(self, images: int) -> None:
        """Count a batch of images."""
        self._batches.add(images)

    def text(self) -> str:
        """Return all counts."""
        return "\n".join((*self._metric_lines(), ""))

    def _metric_lines(self) -> Iterator[str]:
        yield from _metric_head("zoo_requests_total", "counter", "Requests by path and status.")
        for (path, status), count in sorted(self._requests.items()):
            yield f'zoo_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _metric_head("zoo_errors_total", "counter", "Requests that were refused or that failed.")
        yield f"zoo_errors_total {sum(count for (_, status), count in self._requests.items() if status >= 400)}"
        yield from _metric_head("zoo_refusals_total", "counter", "Refused requests and ended connections by reason.")
        for reason, count in self._refusals.items():
            yield f'zoo_refusals_total{{reason="{reason}"}} {count}'
        yield from _metric_head("zoo_request_seconds", "histogram", "Seconds from a request to its answer.")
        yield from self._seconds.lines("zoo_request_seconds")
        yield from _metric_head("zoo_batch_images", "histogram", "Images in a batch of the net.")
        yield from self._batches.lines("zoo_batch_images")
        yield from _metric_head("zoo_open_requests", "gauge", "Predictions in progress.")
        yield f"zoo_open_requests {self._predictions.taken}"
        yield from _metric_head("zoo_open_connections", "gauge", "Open connections.")
        yield f"zoo_open_connections {self._connections.taken}"


def _metric_head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"
