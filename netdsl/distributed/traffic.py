"""What a worker's exchanges cost until now."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Traffic:
    """Running sums over all lanes, which only grow."""

    waited: float = 0.0  # seconds in which an exchange was asked for that another worker hadn't come to
    moved: float = 0.0  # seconds in which buffers were copied, added or on their way
    bytes: int = 0  # sent and received by this worker
