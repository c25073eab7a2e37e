"""How commands that convert models tell what they proved, and which tensors were taken for which layers."""

from __future__ import annotations

from collections.abc import Sequence

from converters.rewriting import Proof
from netdsl.weights.torch_names import TensorMatch


def plain(proofs: Sequence[Proof], names: Sequence[TensorMatch]) -> dict[str, object]:
    """For JSON."""
    return {
        "proofs": [{"what": each.what, "difference": each.difference, "tolerance": each.tolerance} for each in proofs],
        "names": [{"source": each.source, "layer": each.layer, "by": each.by.value} for each in names],
    }


def lines(proofs: Sequence[Proof], names: Sequence[TensorMatch]) -> list[str]:
    """For people."""
    found = [f"layer {each.layer} has {each.source}, by {each.by.value}" for each in names]
    return found + [_line(each) for each in proofs]


def _line(proof: Proof) -> str:
    if proof.difference is None:
        return f"{proof.what}: not verified"
    return f"{proof.what}: outputs differ by {proof.difference:.1e} of their spread ({proof.tolerance:g} allowed)"
