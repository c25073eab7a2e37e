"""Files with the settings of a command: `--config` reads them, and `--print-config` prints them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import click

from caffe_proto.addresses import local_path
from zoo.requests.request import Request, fields_of


def config_options() -> tuple[click.Option, click.Option]:
    """Return both options. The file is read before other options are parsed, since it may set them."""
    read = click.Option(
        ["--config"],
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_take_config,
        help="File with arguments and options that aren't given here: YAML, TOML or JSON.",
    )
    shown = click.Option(
        ["--print-config"], is_flag=True, help="Print a file for --config with all settings, and do nothing else."
    )
    return read, shown


def _take_config(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Read values of options and arguments from a file, unless they are given on the command line."""
    if value is None:
        return
    names = {name: param for param in ctx.command.params for name in (param.name, *_setting_names(param)) if name}
    settings = {}
    for key, given in _read_config(value).items():
        name = key.replace("_", "-") if key.replace("_", "-") in names else key
        if name not in names or names[name].name in ("config", "print_config"):
            near = get_close_matches(name, names, 1)
            known = ", ".join(dict.fromkeys(_setting_name(param) for param in names.values()))
            hint = f"did you mean {near[0]}?" if near else f"the settings are {known}"
            raise click.BadParameter(f"{value}: {ctx.command_path} has no setting '{key}'; {hint}", ctx, parameter)
        settings[str(names[name].name)] = _as_words(names[name], given)
    ctx.default_map = settings


def _as_words(param: click.Parameter, given: Any) -> Any:
    """Return a value from a file as words of a command line."""
    if isinstance(given, dict):
        return [f"{name}={value}" for name, value in given.items()]
    is_list = param.nargs == -1 or getattr(param, "multiple", False)
    return [given] if is_list and not isinstance(given, list) else given


def _setting_name(param: click.Parameter) -> str:
    """Return the name of an option or argument in a file."""
    return next(_setting_names(param), str(param.name))


def _setting_names(param: click.Parameter) -> Iterator[str]:
    return (name.removeprefix("--") for name in param.opts if name.startswith("--"))


def _read_config(path: str) -> dict[str, Any]:
    """Return the settings in a file."""
    import yaml

    settings: object
    try:
        text = local_path(path, "a file").read_text(encoding="utf-8")
        settings = tomllib.loads(text) if path.endswith(".toml") else yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError) as problem:
        raise click.BadParameter(f"{path}: the file can't be read: {problem}", param_hint="'--config'") from None
    if not isinstance(settings, dict) or not all(isinstance(name, str) for name in settings):
        raise click.BadParameter(
            f"{path}: the file contains no names with values; write lines such as batch: 64", param_hint="'--config'"
        )
    return settings


def config_text(kind: type[Request], plain: Mapping[str, Any]) -> str:
    """Return all given settings, and the defaults of the others, as a file for --config."""
    import yaml

    ctx = click.get_current_context()
    names = {each.name: _setting_name(each) for each in ctx.command.params}
    described = sorted(fields_of(kind), key=lambda each: not each.said.get("is_argument"))
    values = {each.name: plain[each.name] for each in described if plain[each.name] not in (None, (), "")}
    settings = {names[name]: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return str(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))
