"""The command line as `python -m netdsl`, which is the same as `zoo`."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

_spec = find_spec("zoo")
_place = Path(_spec.origin or "").resolve().parent if _spec is not None else None
if _place != Path(__file__).resolve().parents[1] / "zoo":
    sys.exit(
        f"{_place}: Python imports this package instead of netdsl's 'zoo'; run pip uninstall zoo or remove its "
        "folder from PYTHONPATH, and then run: pip install --force-reinstall --no-deps netdsl"
    )
import_module("zoo.cli").main()  # for the packages in the folder of this one
