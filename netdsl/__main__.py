"""The command line as `python -m netdsl`, which is the same as `zoo`."""

from importlib import import_module

import_module("zoo.cli").main()  # the packages above this one
