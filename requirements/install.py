"""Installs the wheel with extras into a new environment, without a compiler, and tries it: `make test-install`.

Needs uv. With `--resolve`, it downloads nothing and only checks whether packages exist for other Python versions.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from requirements.installation import ROOT, WITHOUT_COMPILER, install_wheel


def main() -> int:
    """Install and try the package, or resolve each extra for each Python version. Returns 1 if something doesn't
    work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", default="all", help="Extras to install, separated by commas.")
    parser.add_argument("--resolve", default="", help="Python versions to resolve for, separated by commas.")
    options = parser.parse_args()
    if options.resolve:
        return _resolve(options.resolve.split(","))
    with tempfile.TemporaryDirectory(prefix="netdsl-install-") as folder:
        return _install(Path(folder), options.extras)


def _resolve(versions: list[str]) -> int:
    missing = False
    for extra in sorted(set(_extras()) - {"dev"}):
        results = [_resolves(extra, version) for version in versions]
        missing |= not all(results)
        states = [f"{version} {'yes' if result else 'NO'}" for version, result in zip(versions, results, strict=True)]
        print(f"{extra:10}", *states, sep="  ", flush=True)
    return int(missing)


def _resolves(extra: str, version: str) -> bool:
    command = ["uv", "pip", "compile", "--quiet", *WITHOUT_COMPILER, f"--python-version={version}", f"--extra={extra}"]
    return not subprocess.run([*command, ROOT / "pyproject.toml"], stdout=subprocess.DEVNULL).returncode


def _install(folder: Path, extras: str) -> int:
    zoo = install_wheel(folder, extras) / "zoo"
    subprocess.run([zoo, "--version"], check=True, cwd=folder)
    subprocess.run([zoo, "train", "lenet", "--data", "digits", "--max-iter", "2", "--json"], check=True, cwd=folder)
    run = subprocess.run([zoo, "doctor", "--json"], cwd=folder, stdout=subprocess.PIPE)
    checks = json.loads(run.stdout)["checks"]
    bad = [check for check in checks if check["verdict"] == "wrong"]
    bad += [check for check in checks if check["part"] in _names(extras) and check["verdict"] != "good"]
    for check in bad:
        print(f"{check['group']}: {check['part']}: {check['fact']}")
    print(f"Python {sys.version.split()[0]}, netdsl[{extras}]: {'broken' if bad else 'works'}")
    return int(bool(bad))


def _names(extras: str) -> set[str]:
    """Return the named extras. `all` stands for several."""
    names = set(extras.split(","))
    return names | set(re.findall(r"\w+", _extras()["all"][0])) if "all" in names else names


def _extras() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return extras


if __name__ == "__main__":
    sys.exit(main())
