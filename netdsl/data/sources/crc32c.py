"""Computes CRC-32C, the checksum of LevelDB, with NumPy for many bytes at once."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78  # the Castagnoli polynomial, with reversed bits
_ROW = 64  # number of bytes or states that are joined at once: their tables fit into a processor's cache
_PIECE = 1 << 20  # number of bytes at once: looking them up takes twelve times as much memory

Words = NDArray[np.uint32]


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of some bytes."""
    state, view = 0xFFFFFFFF, memoryview(data)
    for start in range(0, len(data), _PIECE):
        state = _state_after(view[start : start + _PIECE], state)
    return state ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Return the masked CRC-32C that LevelDB stores. Without the mask, the CRC of data that contain CRCs would be
    weak."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _state_after(data: memoryview, state: int) -> int:
    """Return the state of the CRC after some bytes.

    A CRC is linear: it is the XOR of the contributions of all bytes. The contribution of a byte depends on its distance
    from the end. So each byte of a row is looked up in the table for its position, and the results are joined into a
    state for each row. Rows of states are joined in the same way until one state is left. The state before the data is
    combined with their first four bytes. Zeros in front of the data change nothing.
    """
    size = max(len(data), 4)
    padding = -size % _ROW + size - len(data)
    row = np.zeros(padding + len(data), np.uint8)
    row[padding:] = data
    first = row[padding : padding + 4]
    first ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)[: len(first)]
    states = _joined(row.reshape(-1, _ROW), _byte_tables())
    states[-1] ^= np.uint32(state >> 8 * min(len(data), 4))  # the bytes of the state that didn't meet data
    length = _ROW
    while len(states) > 1:
        padded = np.zeros(len(states) + -len(states) % _ROW, "<u4")
        padded[-len(states) :] = states
        states = _joined(padded.view(np.uint8).reshape(-1, 4 * _ROW), _state_tables(length))
        length *= _ROW
    return int(states[0])


def _joined(rows: NDArray[np.uint8], tables: Words) -> Words:
    """Return the state at the end of each row, using one table for each position in a row."""
    first_entries = np.arange(0, len(tables), 256, dtype=np.uint16)
    joined: Words = np.bitwise_xor.reduce(tables.take(rows + first_entries), axis=1)
    return joined


@cache
def _byte_table() -> Words:
    """Return the state after each byte value, starting from zero."""
    states: Words = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        states = states >> np.uint32(1) ^ np.where(states & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return states


@cache
def _byte_tables() -> Words:
    """Return the state at a row's end for each byte value at each position, with zeros at all other positions."""
    tables = [_byte_table()]
    for _ in range(_ROW - 1):
        tables.append(_byte_table()[tables[-1] & 0xFF] ^ tables[-1] >> 8)
    return np.concatenate(tables[::-1])


@cache
def _state_tables(length: int) -> Words:
    """Return the same tables for rows of states, each of which is the state after `length` bytes."""
    tables = [np.concatenate([np.arange(256, dtype=np.uint32) << shift for shift in (0, 8, 16, 24)])]
    for _ in range(_ROW - 1):
        tables.append(_after_zeros(tables[-1], length))
    return np.concatenate(tables[::-1])


def _after_zeros(states: Words, count: int) -> Words:
    """Return the states after `count` more zero bytes. `count` is a power of two."""
    tables = _zeros_tables(count)
    after: Words = np.bitwise_xor.reduce([tables[place][states >> 8 * place & 0xFF] for place in range(4)])
    return after


@cache
def _zeros_tables(count: int) -> Words:
    """Return the state after `count` zero bytes, for each value of each of a state's four bytes."""
    starts = np.arange(256, dtype=np.uint32) << np.array([[0], [8], [16], [24]], np.uint32)
    if count == 1:
        after: Words = _byte_table()[starts & 0xFF] ^ starts >> 8
        return after
    return _after_zeros(_after_zeros(starts, count // 2), count // 2)
