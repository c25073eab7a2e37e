"""The form of the 8-bit integers in a quantized model."""

from __future__ import annotations

from typing import Literal

import msgspec


class IntegerForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The integers of activations and weights. Weights are always signed, around zero.

    `reduced_weights` leaves a bit of the weights unused. Processors without instructions for products of 8-bit numbers
    otherwise cut off large sums.
    """

    activations: Literal["uint8", "int8"] = "uint8"
    symmetric: bool = False  # whether zero is in the middle of the activations' range
    per_channel: bool = True  # whether each channel of the weights has its own scale
    reduced_weights: bool = True
    float_biases: bool = False  # whether biases stay as they are, which some programs need
