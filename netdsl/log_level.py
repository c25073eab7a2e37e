"""Log records on standard error, where the variable NETDSL_LOG asks for them."""

from __future__ import annotations

import os

from netdsl.errors import SettingError

VARIABLE = "NETDSL_LOG"
_PACKAGES = ("caffe_proto", "converters", "netdsl", "zoo")  # that have a logger each, with their modules below
_LEVELS = ("debug", "info", "warning", "error", "critical")


def check_log_level() -> None:
    """Raise a SettingError if the variable names a level that doesn't exist."""
    level = os.environ.get(VARIABLE, "")
    if level and level.lower() not in _LEVELS:
        raise SettingError(f"{VARIABLE}={level}: isn't a level of log records; set it to {', '.join(_LEVELS[:4])}")


def show_log_records() -> None:
    """Send the packages' log records of the wanted level, and above, to standard error. Do nothing if the variable
    isn't set, or names a level that doesn't exist."""
    level = os.environ.get(VARIABLE, "").lower()
    if level not in _LEVELS:
        return
    import logging  # which takes time that commands without records don't spend

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    for package in _PACKAGES:
        logger = logging.getLogger(package)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
