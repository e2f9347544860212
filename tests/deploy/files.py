"""Reads the container files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from bookbound.settings import ENVIRONMENT_PREFIX, Settings

REPOSITORY = Path(__file__).resolve().parent.parent.parent
KUBERNETES = REPOSITORY / "deploy" / "kubernetes"
SETTING_VARIABLES = {ENVIRONMENT_PREFIX + field.name.upper() for field in fields(Settings)}
SECRET_NAME = re.compile(r"(_KEY|_PASSWORD|_LOG_URL|_REDIS_URL|CLI_AUTH)$")
BOOKBOUND_IMAGE = "bookbound:0.1.0"
PORT = 8000

COMPOSE: dict[str, Any] = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
MANIFESTS: dict[str, dict[str, Any]] = {
    file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in sorted(KUBERNETES.glob("*.yaml"))
}
PODS = {
    name: each["spec"]["template"]["spec"] for name, each in MANIFESTS.items() if each["kind"] in ("Deployment", "Job")
}
EXAMPLE_ENVIRONMENT = dict(
    line.split("=", 1)
    for line in (REPOSITORY / "deploy" / "example.env").read_text(encoding="utf-8").splitlines()
    if "=" in line and not line.startswith("#")
)


def read_instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each on one line."""
    text = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def read_stages() -> dict[str, list[tuple[str, str]]]:
    """The instructions of each stage."""
    found: dict[str, list[tuple[str, str]]] = {}
    for word, rest in read_instructions():
        if word == "FROM":
            found[rest.partition(" AS ")[2]] = []
        elif found:
            list(found.values())[-1].append((word, rest))
    return found


def find_variables(text: str) -> set[str]:
    """The variables of Bookbound in a text."""
    return set(re.findall(rf"\b{ENVIRONMENT_PREFIX}[A-Z_]+\b", text))


def list_images() -> Iterator[str]:
    arguments = dict(rest.split("=", 1) for word, rest in read_instructions() if word == "ARG")
    for word, rest in read_instructions():
        base = re.sub(r"\$\{(\w+)\}", lambda name: arguments[name[1]], rest.partition(" AS ")[0])
        if word == "FROM" and base not in read_stages():
            yield base
    yield from (service["image"] for service in SERVICES.values())
    yield from (container["image"] for pod in PODS.values() for container in pod["containers"])


def list_deployment_files() -> list[Path]:
    fixed = [REPOSITORY / name for name in ("Dockerfile", "compose.yaml", ".dockerignore", "docs/guides/deploy.md")]
    return [*fixed, *(file for file in (REPOSITORY / "deploy").rglob("*") if file.is_file())]
