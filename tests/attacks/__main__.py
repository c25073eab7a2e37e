"""`python -m tests.attacks`: searches for files that cost too much for some time, and prints the highest costs."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # set before torch is loaded: only a process without threads can be forked

from tests.attacks.search import AttackSearch, table


def main() -> int:
    """Run until the time is up. Returns 1 if a file cost too much, or caused a traceback."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, help="without one, the time")
    parser.add_argument("--keep", type=Path, default=Path("attack-finds"), help="the folder of recipes that are found")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else int(time.time())
    print(f"seed {seed}", flush=True)
    _import_all()
    work, end = Path(tempfile.mkdtemp(prefix="attacks-")), time.monotonic() + arguments.seconds
    search = AttackSearch(seed, work, arguments.keep)
    try:
        while time.monotonic() < end:
            search.step()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(table(search.targets))
    for name, cost in search.finds.items():
        print(f"found: {arguments.keep / name}.json: {cost}")
    return 1 if search.finds else 0


def _import_all() -> None:
    """Import what the commands need, so that forked processes don't."""
    import zoo.checking
    import zoo.cli
    import zoo.converting
    import zoo.data_sets
    import zoo.exporting
    import zoo.files
    import zoo.models  # noqa: F401
    from netdsl.layers import type_of  # noqa: F401


if __name__ == "__main__":
    sys.exit(main())
