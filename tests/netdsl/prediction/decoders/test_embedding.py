"""Embeddings: the values of a blob, as they are or with length 1."""

from __future__ import annotations

import numpy as np

from netdsl.prediction.decoders import decoder_of


def embedding(values: list[float], **settings: str) -> list[float]:
    decoder = decoder_of({"decoder": "embedding", "blobs": {"embedding": "fc"}, **settings})
    return decoder.decode({"fc": np.array(values).reshape(-1, 1, 1)}, (4, 4)).values.tolist()


def test_a_blob_is_read_as_one_vector() -> None:
    assert embedding([3, 4]) == [3, 4]


def test_a_vector_gets_the_length_1_on_request() -> None:
    assert embedding([3, 4], normalize="true") == [0.6, 0.8]
    assert embedding([0, 0], normalize="true") == [0, 0]
