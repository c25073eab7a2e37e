"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

# What these name needs torch, for which nobody should wait to read the help, or that an option is wrong.
PRECISIONS = ("float32", "float16", "bfloat16")
EXPORT_TARGETS = ("caffe", "onnx", "torch")
STRATEGIES = ("averaging", "allreduce", "outer", "elastic", "elastic-sync", "mpca")
TEST_BATCHES = 50

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

as_json: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
lenient: Decorator = click.option(
    "--lenient", is_flag=True, help="Skip fields that no known Caffe has, with a warning for each."
)
dialect: Decorator = click.option(
    "--dialect", metavar="NAME", help="The fork that wrote a binary file, such as ssd; guessed if not given."
)
