"""Things that are closed: a context, which closes them at its end."""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import Self


class ClosedAtEnd:
    """Something that is used as a context and closed at its end."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
