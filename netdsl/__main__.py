"""The command line as `python -m netdsl`, which is the same as `zoo`."""

import sys
from importlib import import_module

from netdsl.own_packages import is_ours, place_of

if not is_ours("zoo"):
    sys.exit(
        f"{place_of('zoo')}: Python imports this package instead of netdsl's 'zoo'; run pip uninstall zoo or remove "
        "its folder from PYTHONPATH, and then run: pip install --force-reinstall --no-deps netdsl"
    )
import_module("zoo.cli").main()  # for the packages in the folder of this one
