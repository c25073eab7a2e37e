"""The proofs of converting commands, and the matches of tensors and layers, as JSON and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converters.rewriting import Proof
    from netdsl.weights.torch_names import TensorMatch


def plain(proofs: Sequence[Proof], names: Sequence[TensorMatch]) -> dict[str, object]:
    """Proofs and matches as JSON."""
    return {
        "proofs": [
            {"what": proof.what, "difference": proof.difference, "tolerance": proof.tolerance} for proof in proofs
        ],
        "names": [{"source": name.source, "layer": name.layer, "by": name.by.value} for name in names],
    }


def lines(proofs: Sequence[Proof], names: Sequence[TensorMatch]) -> list[str]:
    """Proofs and matches as lines of text."""
    matches = [f"layer {name.layer} has {name.source}, by {name.by.value}" for name in names]
    return matches + [_line(proof) for proof in proofs]


def _line(proof: Proof) -> str:
    if proof.difference is None:
        return f"{proof.what}: not verified"
    return f"{proof.what}: outputs differ by {proof.difference:.1e} of their spread ({proof.tolerance:g} allowed)"
