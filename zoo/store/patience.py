"""The time that a transfer may take: until the next bytes of the file, for a number of bytes, and until the whole pull
must have ended."""

from __future__ import annotations

from zoo.store.errors import DeadlineError, DownloadError, InterruptedTransferError
from zoo.store.transfers import TransferSettings


class Patience:
    """The patience with one address. Only bytes of the file count as progress, so headers, redirects and other
    wrapping can't prolong a wait."""

    def __init__(self, address: str, settings: TransferSettings) -> None:
        self._address, self._settings = address, settings
        self._wait_began = settings.clock()
        self._waited, self._received = 0.0, 0  # since the speed was measured

    def begin_wait(self) -> None:
        """Begin to wait for the next bytes of the file."""
        self._wait_began = self._settings.clock()

    def seconds_left(self) -> float:
        """Return how long a call may still wait. Raises an error if the time is over."""
        now = self._settings.clock()
        seconds = min(self._settings.ends, self._wait_began + self._settings.silence) - now
        if seconds <= 0:
            raise self.problem()
        return seconds

    def problem(self) -> DownloadError:
        """Return an error about the limit that is over."""
        if self._settings.clock() >= self._settings.ends:
            return DeadlineError(
                f"{self._address}: the pull has taken {self._settings.deadline:,.6g} seconds; run the same command "
                "again, which continues the transfer, or allow more time with --deadline"
            )
        return InterruptedTransferError(
            f"{self._address}: the server has sent nothing of the file for {self._settings.silence:g} seconds"
        )

    def end_wait(self, size: int) -> None:
        """Count the bytes that have arrived. Raises an error if they were slow. Writing them to the disk doesn't
        count."""
        self._waited += self._settings.clock() - self._wait_began
        self._received += size
        if self._waited < self._settings.silence:
            return
        if self._received < self._settings.least_speed * self._waited:
            raise InterruptedTransferError(
                f"{self._address}: the server has sent {self._received:,} bytes in {self._waited:,.3g} seconds, which "
                f"is slower than {self._settings.least_speed:,} bytes per second; allow less with --min-speed"
            )
        self._waited, self._received = 0.0, 0
