from __future__ import annotations

import numpy as np
import pytest

from netdsl.data.sources.crc32c import crc32c, masked_crc32c


def bit_by_bit(data: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def test_the_published_value_is_computed() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA  # from RFC 3720


@pytest.mark.parametrize("size", [*range(70), 4095, 4096, 4097, 5000])
def test_any_number_of_bytes_gives_the_crc_of_its_bits(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == bit_by_bit(data)


def test_a_crc_goes_on_after_a_piece() -> None:
    data = np.random.default_rng(1).bytes((1 << 20) + 3)
    assert crc32c(data) == bit_by_bit(data)


def test_a_masked_crc_is_rotated_and_moved() -> None:
    crc = crc32c(b"x")
    assert masked_crc32c(b"x") == ((crc >> 15 | crc << 17) + 0xA282EAD8) % (1 << 32)
