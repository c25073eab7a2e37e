"""One rank's part of a script. The script runs as in plain Python, while torch works for all ranks together."""

from __future__ import annotations

import random
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from netdsl.distributed.communicator import Communicator
from netdsl.errors import DistributedError
from netdsl.pycaffe import process
from netdsl.transparent import rules
from netdsl.transparent.backward import Gradients
from netdsl.transparent.batch_tensor import BatchTensor, has_batch_tensor, whole
from netdsl.transparent.files import Replacement, patched, private_files
from netdsl.transparent.loader import divide, divided_loaders
from netdsl.transparent.ranks import Doing, ScriptRanks

__all__ = ["Script", "run_alone", "run_script"]
assert rules


class Script(msgspec.Struct, frozen=True):
    """A Python program and its command-line arguments."""

    path: str
    arguments: tuple[str, ...] = ()
    all_output: bool = False  # whether every rank writes files and prints, instead of only the first


def run_alone(script: Script) -> None:
    """Run a script as one process, like Python itself."""
    path = Path(script.path).resolve()
    if not path.is_file():
        raise DistributedError(f"{script.path}: not a file; name a Python program, such as train.py")
    sys.argv[:] = [script.path, *script.arguments]
    sys.path.insert(0, str(path.parent))
    runpy.run_path(str(path), run_name="__main__")


def run_script(script: Script, communicator: Communicator, private: str | None = None) -> None:
    """Run a script as one of the ranks of a communicator. All ranks must end together.

    `private` is the folder for files that only one rank sees, if there is one.
    """
    if communicator.size == 1:
        run_alone(script)
        return
    ranks = ScriptRanks(communicator)
    with ExitStack() as stack:
        stack.enter_context(transparent(ranks))
        if ranks.rank and not script.all_output:
            stack.enter_context(private_files(private))
        try:
            run_alone(script)
        except SystemExit as ending:
            if ending.code not in (None, 0):
                raise
        ranks.meet(Doing.END)
        if ranks.rank == 0 and ranks.whole:
            names = ", ".join(sorted(ranks.whole))
            complain(f"all ranks computed these operations on whole batches, which is correct but not faster: {names}")


def complain(text: str) -> None:
    """Print a message that isn't part of the script's output."""
    sys.stderr.write(f"zoo run: {text}\n")


@contextmanager
def transparent(ranks: ScriptRanks) -> Iterator[None]:
    """Let torch, its DataLoaders and pycaffe's nets work for all ranks together."""
    BatchTensor.ranks = ranks
    _seed_all_ranks(ranks)
    notes: set[str] = set()

    def note(text: str) -> None:
        if ranks.rank == 0 and text not in notes:
            notes.add(text)
            complain(text)

    with (
        Gradients(ranks).installed(),
        divided_loaders(ranks, note),
        patched(_functions_on_whole(ranks)),
        _nothing_compiled(),
        process.divided_batches(lambda batch: _divide_batch(batch, ranks), whole),
    ):
        yield


@contextmanager
def _nothing_compiled() -> Iterator[None]:
    """Run compiled functions without compiling them, since compiled code doesn't support parts.

    Only torch's compiler has a setting for that. Loading the compiler takes seconds, so this waits until a script first
    needs it.
    """
    compile_function = torch.compile

    @wraps(compile_function)
    def compile_nothing(*args: Any, **kwargs: Any) -> Any:
        torch.compiler.set_stance("force_eager")
        return compile_function(*args, **kwargs)

    try:
        with patched([(torch, "compile", compile_nothing)]):
            yield
    finally:
        if "torch._dynamo" in sys.modules:
            torch.compiler.set_stance("default")


def _seed_all_ranks(ranks: ScriptRanks) -> None:
    """Give all ranks the same random numbers, unless the script sets a seed."""
    (seed, *_), *_ = ranks.communicator.gather([float(random.SystemRandom().getrandbits(32))])
    torch.manual_seed(int(seed))
    random.seed(int(seed))
    np.random.seed(int(seed))
    _Generators.made, _Generators.seed = 0, int(seed)


class _Generators:
    """The random generators that numpy creates without a seed."""

    make = staticmethod(np.random.default_rng)
    made = seed = 0

    @classmethod
    def default_rng(cls, seed: Any = None) -> np.random.Generator:
        if seed is None:
            cls.made += 1
            seed = (cls.seed, cls.made)
        return cls.make(seed)


def _divide_batch(batch: Sequence[Tensor], ranks: ScriptRanks) -> Sequence[Tensor]:
    """Return the parts of a pycaffe net's tops if they have the same number of items, and whole tops otherwise."""
    lengths = {len(tensor) if tensor.ndim else 0 for tensor in batch}
    return [divide(tensor) for tensor in batch] if len(lengths) == 1 and min(lengths) >= ranks.size else batch


def _functions_on_whole(ranks: ScriptRanks) -> list[Replacement]:
    """Return replacements for functions that torch's protocol for tensor subclasses doesn't cover."""
    apply = torch.autograd.Function.__dict__["apply"]
    apply_to_class = getattr(apply, "__func__", apply)  # a descriptor of C in newer versions of torch

    def apply_to_whole(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if torch._C._is_torch_function_enabled() and has_batch_tensor(args, kwargs):
            args, kwargs = pytree.tree_map_only(BatchTensor, whole, (args, kwargs))
            ranks.whole[cls.__name__] = ranks.whole.get(cls.__name__, 0) + 1
        return apply_to_class(cls, *args, **kwargs)

    def making(function: Callable[..., Any]) -> Callable[..., Any]:
        def make(values: Any, *args: Any, **kwargs: Any) -> Any:
            return function(pytree.tree_map_only(BatchTensor, whole, values), *args, **kwargs)

        return make

    return [
        (torch.autograd.Function, "apply", classmethod(apply_to_whole)),
        (np.random, "default_rng", _Generators.default_rng),
        *((torch, name, making(getattr(torch, name))) for name in ("tensor", "as_tensor", "asarray")),
    ]
