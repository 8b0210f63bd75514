"""Write a software bill of materials of the installed environment: CycloneDX 1.6 in JSON.

    python tools/sbom.py out/sbom.json

Run by `make sbom`. It lists every installed distribution with its version, its licence as it states it, and what it requires. The
same environment gives the same bytes: there is no time in it, and the serial number follows from the content.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import uuid
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

ROOT = "robustpool"
LONGEST_LICENCE = 60  # of the field License, where some packages put the whole text


def bill() -> dict[str, Any]:
    """The bill of this environment."""
    installed = {_key(each.metadata["Name"]): each for each in distributions()}
    components = [_component(installed[name]) for name in sorted(installed) if name != ROOT]
    dependencies = [
        {"ref": _url(each), "dependsOn": sorted(_url(installed[name]) for name in _required(each) if name in installed)}
        for _, each in sorted(installed.items())
    ]
    own = _component(installed[ROOT]) | {"type": "application"}
    content = {"metadata": {"component": own}, "components": components, "dependencies": dependencies}
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return head | content


def _component(distribution: Distribution) -> dict[str, Any]:
    url = _url(distribution)
    component: dict[str, Any] = {"type": "library", "bom-ref": url, "name": distribution.metadata["Name"]}
    component |= {"version": distribution.version, "purl": url}
    licences = _licences(distribution)
    return component | ({"licenses": licences} if licences else {})


def _licences(distribution: Distribution) -> list[dict[str, Any]]:
    """The licence as an expression, or by its names."""
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return [{"expression": expression}]
    classified = [
        each.rpartition(" :: ")[2] for each in metadata.get_all("Classifier", []) if each.startswith("License ::")
    ]
    text = metadata.get("License") or ""
    names = classified or ([text] if 0 < len(text) <= LONGEST_LICENCE and "\n" not in text else [])
    return [{"license": {"name": name}} for name in sorted(set(names))]


def _required(distribution: Distribution) -> set[str]:
    """The names of all that it may require, with or without extras."""
    return {_key(name.group()) for each in distribution.requires or () if (name := re.match(r"[A-Za-z0-9._-]+", each))}


def _key(name: str) -> str:
    """A name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _url(distribution: Distribution) -> str:
    return f"pkg:pypi/{_key(distribution.metadata['Name'])}@{distribution.version}"


def main() -> int:
    """Write the bill."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    output: Path = parser.parse_args().output
    content = bill()
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"The bill of {len(content['components'])} packages is in {output}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
