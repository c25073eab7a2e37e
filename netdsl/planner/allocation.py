"""What an allocator takes from a device for the memory that is asked of it."""

from __future__ import annotations

_UNIT = 512  # bytes, of which the sizes of all blocks are multiples
_SMALL = 1 << 20  # bytes up to which a block is cut out of a small segment
_SMALL_SEGMENT = 2 << 20
_MEDIUM = 10 << 20  # bytes from which a block is a segment of its own
_MEDIUM_SEGMENT = 20 << 20
_LARGE_UNIT = 2 << 20  # bytes, of which the sizes of such segments are multiples


class Allocation:
    """Memory that is taken as it is asked for, as a CPU's is but for some pages."""

    def __init__(self) -> None:
        self._bytes = 0

    def change(self, size: int) -> None:
        """Take memory of this size, or give it back if the size is negative."""
        self._bytes += size

    @property
    def total(self) -> int:
        """The bytes that are taken from the device."""
        return self._bytes


class CachedAllocation(Allocation):
    """Memory as torch's caching allocator takes it from a GPU: in segments, of which blocks are parts.

    It is as much as is needed if blocks always fit into what is left of segments. Where they don't, the allocator
    takes more as long as there is more, and gives back what it doesn't use before it says that there is none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._small, self._medium, self._large = 0, 0, 0

    def change(self, size: int) -> None:
        """Take a block for this size, or give it back if the size is negative."""
        sign, block = 1 if size > 0 else -1, _rounded(abs(size), _UNIT)
        if block <= _SMALL:
            self._small += sign * block
        elif block < _MEDIUM:
            self._medium += sign * block
        else:
            self._large += sign * _rounded(block, _LARGE_UNIT)

    @property
    def total(self) -> int:
        """The bytes of all segments."""
        return _rounded(self._small, _SMALL_SEGMENT) + _rounded(self._medium, _MEDIUM_SEGMENT) + self._large


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
