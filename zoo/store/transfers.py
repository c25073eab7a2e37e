"""How files are fetched: limits and waits, what is known about a file before it comes, and what is told meanwhile."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from zoo.requests.events import Listen, ignore
from zoo.store.errors import StoreError

_DIGITS = {"sha256": 64, "sha1": 40}


@dataclass(frozen=True)
class TransferProgress:
    """So much of a file is here."""

    name: str
    received: int
    total: int | None  # None if the server doesn't say


@dataclass(frozen=True)
class TransferSettings:
    """Limits and waits of transfers."""

    most_bytes: int = 32 << 30  # of a file, and of what an archive holds
    silence: float = 30.0  # seconds without an answer or a byte after which a server is given up
    attempts: int = 5  # in a row that bring next to nothing
    pause: float = 1.0  # seconds before the second attempt; each further pause is longer
    offline: bool = False
    listen: Listen = ignore


@dataclass(frozen=True)
class ExpectedFile:
    """What a card or a lock file says about a file; what isn't known is empty."""

    sha256: str = ""
    sha1: str = ""
    size: int | None = None

    def __post_init__(self) -> None:
        for name, digits in _DIGITS.items():
            value = getattr(self, name).strip().lower()
            if value and re.fullmatch(f"[0-9a-f]{{{digits}}}", value) is None:
                raise StoreError(f"'{value}' is no {name}, which has {digits} digits from 0 to f; correct it")
            object.__setattr__(self, name, value)

    @property
    def is_proof(self) -> bool:
        """Whether a file with other bytes would be noticed."""
        return bool(self.sha256 or self.sha1)


ANY_FILE = ExpectedFile()  # of which nothing is known


class Hashes:
    """The size and the hashes of a file, of which pieces come one after the other."""

    def __init__(self) -> None:
        self.size = 0
        self._sha256, self._sha1 = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)

    def update(self, piece: bytes) -> None:
        """Take the next piece."""
        self.size += len(piece)
        self._sha256.update(piece)
        self._sha1.update(piece)

    @property
    def sha256(self) -> str:
        """The SHA-256 of all pieces, in hexadecimal digits."""
        return self._sha256.hexdigest()

    def difference(self, expected: ExpectedFile) -> str | None:
        """Return the first thing that isn't as expected, as the end of a sentence; None if all is."""
        if expected.size is not None and self.size != expected.size:
            return f"has {self.size:,} bytes, and {expected.size:,} are expected"
        if expected.sha256 and self.sha256 != expected.sha256:
            return f"has the SHA-256 {self.sha256}, and {expected.sha256} is expected"
        if expected.sha1 and self._sha1.hexdigest() != expected.sha1:
            return f"has the SHA-1 {self._sha1.hexdigest()}, and {expected.sha1} is expected"
        return None
