"""The base class of objects that a `with` statement closes."""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import Self


class ClosedAtEnd:
    """An object that a `with` statement closes at its end."""

    @abstractmethod
    def close(self) -> None:
        """Release the files, threads and memory that the object holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
