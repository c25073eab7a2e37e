"""The work of one pass through a net, which is limited where it is a file that asks for it."""

from __future__ import annotations

import math

from caffe_proto.limits import STORED_TIMES, Limit
from netdsl.net.build import Built

_BYTES = 4  # the size of a value
_USES = 500  # products with a stored byte in one pass; nets for images use a byte up to 300 times


def check_pass(built: Built, stored: int, what: str) -> None:
    """Raise a `LimitError` about `what` if a forward pass needs too many operations, or too much memory for one layer
    and for the outputs of another program, with which the net's are compared.

    `stored` is the number of bytes in the file that describes the net.
    """
    operations, largest = _work_of(built)
    largest += sum(math.prod(built.shapes[edge]) for edge in built.graph.outputs)
    Limit.PASS_OPERATIONS.check(operations, what, _USES * stored)
    Limit.PASS_MEMORY.check(_BYTES * largest, what, STORED_TIMES * stored)


def check_run(built: Built) -> None:
    """Raise a `LimitError` if a forward pass that the user requested needs too many operations, or too much memory for
    one layer."""
    operations, largest = _work_of(built)
    Limit.RUN_OPERATIONS.check(operations, "the forward pass")
    Limit.PASS_MEMORY.check(_BYTES * largest, "the forward pass")


def _work_of(built: Built) -> tuple[int, int]:
    """Return the number of operations in a forward pass, and the largest number of values at a layer."""
    operations = largest = 0
    for node, layer in built.pairs():
        bottoms, tops = ([built.shapes[edge] for edge in edges] for edges in (node.bottoms, node.tops))
        values = sum(map(math.prod, (*bottoms, *tops)))
        operations += values + layer.products(bottoms, tops)
        largest = max(largest, values + layer.working_values(bottoms, tops))
    return operations, largest
