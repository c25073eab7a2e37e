"""Shows log records on standard error if the environment variable NETDSL_LOG is set."""

from __future__ import annotations

import os

from caffe_proto.errors import SettingError

VARIABLE = "NETDSL_LOG"
_LEVELS = ("debug", "info", "warning", "error", "critical")


def check_log_level() -> None:
    """Raise a `SettingError` if NETDSL_LOG names an unknown level."""
    level = os.environ.get(VARIABLE, "")
    if level and level.lower() not in _LEVELS:
        raise SettingError(f"{VARIABLE}={level}: the level is unknown; set it to {', '.join(_LEVELS[:4])}")


def show_log_records() -> None:
    """Send log records at or above the level in NETDSL_LOG to standard error.

    Does nothing if the variable isn't set or names an unknown level.
    """
    level = os.environ.get(VARIABLE, "").lower()
    if level not in _LEVELS:
        return
    import logging  # imported only here, because these imports slow down the start of every command

    from netdsl.own_packages import PACKAGES

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    for package in PACKAGES:  # the loggers of modules are below that of their package
        logger = logging.getLogger(package)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
