"""The command line as `python -m netdsl`, the same as `zoo`."""

from importlib import import_module

import_module("zoo.cli").main()  # which is above
