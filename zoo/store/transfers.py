"""Transfers of files: limits and delays, expected sizes and hashes, and progress."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from zoo.requests.events import Listen, ignore
from zoo.store.errors import StoreError
from zoo.store.public_addresses import AddressGuard

_DIGITS = {"sha256": 64, "sha1": 40}


@dataclass(frozen=True)
class TransferProgress:
    """The number of bytes of a file that have arrived."""

    name: str
    received: int
    total: int | None  # None if the server doesn't send it


@dataclass(frozen=True)
class TransferSettings:
    """Limits and delays of transfers."""

    most_bytes: int = 32 << 30  # maximum size of a file
    silence: float = 30.0  # seconds without a byte of the file after which the attempt ends
    least_speed: int = 1000  # bytes per second; a slower attempt ends
    deadline: float = 86_400.0  # seconds that all transfers may take together
    attempts: int = 5  # number of attempts in a row without much progress
    pause: float = 1.0  # seconds before the second attempt; later pauses are longer
    offline: bool = False
    listen: Listen = ignore
    guard: AddressGuard = field(default_factory=AddressGuard)
    clock: Callable[[], float] = time.monotonic
    began: float = field(default_factory=time.monotonic)  # on the clock

    @property
    def ends(self) -> float:
        """The time of the deadline on the clock."""
        return self.began + self.deadline


@dataclass(frozen=True)
class ExpectedFile:
    """The facts about a file in a card or a lock file. Unknown facts are empty."""

    sha256: str = ""
    sha1: str = ""
    size: int | None = None

    def __post_init__(self) -> None:
        for name, digits in _DIGITS.items():
            value = getattr(self, name).strip().lower()
            if value and re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is None:
                raise StoreError(f"'{value}' isn't a {name}; write {digits} digits from 0 to f")
            object.__setattr__(self, name, value)

    @property
    def is_proof(self) -> bool:
        """Whether different contents would be noticed."""
        return bool(self.sha256 or self.sha1)


ANY_FILE = ExpectedFile()  # a file of which no facts are known


class Hashes:
    """The size and the hashes of a file, computed piece by piece."""

    def __init__(self) -> None:
        self.size = 0
        self._sha256, self._sha1 = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)

    def update(self, piece: bytes) -> None:
        """Add the next piece."""
        self.size += len(piece)
        self._sha256.update(piece)
        self._sha1.update(piece)

    @property
    def sha256(self) -> str:
        """The SHA-256 of all pieces, in hexadecimal digits."""
        return self._sha256.hexdigest()

    def difference(self, expected: ExpectedFile) -> str | None:
        """Return a clause about the first difference from the expected facts, or `None`."""
        if expected.size is not None and self.size != expected.size:
            return f"the file has {self.size:,} bytes, but {expected.size:,} are expected"
        if expected.sha256 and self.sha256 != expected.sha256:
            return f"the file has the SHA-256 {self.sha256}, but {expected.sha256} is expected"
        if expected.sha1 and self._sha1.hexdigest() != expected.sha1:
            return f"the file has the SHA-1 {self._sha1.hexdigest()}, but {expected.sha1} is expected"
        return None
