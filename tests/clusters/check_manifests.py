"""Checks the manifests of examples/clusters against their schemas: python check_manifests.py CRDS, in an environment
with kubernetes-validate and jsonschema.

CRDS is a folder with the definitions of custom resources, as their projects publish them. Unknown fields are errors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml

MANIFESTS = Path(__file__).resolve().parents[2] / "examples/clusters"


def main(folder: str) -> int:
    """Print each resource with its problems, and return 1 if there are any."""
    definitions = dict(_definitions(Path(folder)))
    failed = False
    for path in sorted(MANIFESTS.glob("*.yaml")):
        for resource in yaml.safe_load_all(path.read_text()):
            key = resource["apiVersion"], resource["kind"]
            problem = _problem_of(resource, definitions.get(key), is_custom="." in key[0])
            failed |= bool(problem)
            print(f"{path.name}: {' '.join(key)}: {problem or 'fits'}")
    return int(failed)


def _definitions(folder: Path) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Yield the schemas of custom resources, by version and kind."""
    for path in folder.rglob("*.yaml"):
        for definition in yaml.safe_load_all(path.read_text()):
            spec = (definition or {}).get("spec", {})
            for version in spec.get("versions", []):
                yield (
                    (f"{spec['group']}/{version['name']}", spec["names"]["kind"]),
                    _strict(version["schema"]["openAPIV3Schema"]),
                )


def _strict(schema: Any) -> Any:
    """Return a schema that refuses unknown fields, as `kubectl apply --validate=strict` does."""
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: _strict(part) for name, part in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        strict.setdefault("additionalProperties", bool(schema.get("x-kubernetes-preserve-unknown-fields")))
    return strict


def _problem_of(resource: dict[str, Any], definition: dict[str, Any] | None, *, is_custom: bool) -> str:
    try:
        if not is_custom:
            kubernetes_validate.validate(resource, "1.31", strict=True)
        elif definition is None:
            return "the folder has no definition of this resource"
        else:
            definition = {**definition, "properties": {**definition["properties"], "metadata": {"type": "object"}}}
            jsonschema.validate(resource, definition)
    except (kubernetes_validate.ValidationError, jsonschema.ValidationError) as problem:
        return f"{'.'.join(map(str, problem.path))}: {problem.message}"
    return ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
