"""All container files agree on settings, versions, ports, paths, secrets and timeouts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from tests.deploy.files import (
    BOOKBOUND_IMAGE,
    EXAMPLE_ENVIRONMENT,
    MANIFESTS,
    PODS,
    PORT,
    REPOSITORY,
    SECRET_NAME,
    SERVICES,
    SETTING_VARIABLES,
    find_variables,
    list_deployment_files,
    list_images,
    read_instructions,
    read_stages,
)

import bookbound
from bookbound.bootstrap import web_app
from bookbound.models import MODELS_FOLDER
from bookbound.server import uvicorn_server
from bookbound.settings import Settings


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return web_app.create_web_app(Settings())


def list_paths(app: FastAPI) -> set[str]:
    return set(app.openapi()["paths"])


@pytest.mark.parametrize("file", list_deployment_files(), ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_every_variable_in_the_files_is_a_setting(file: Path) -> None:
    assert find_variables(file.read_text(encoding="utf-8")) - SETTING_VARIABLES == set()


def test_a_server_has_memory_to_open_the_networks() -> None:
    """Weights take one byte in their file and four in memory, and are there twice for a moment."""
    needed = 8 * sum(file.stat().st_size for file in MODELS_FOLDER.iterdir() if file.suffix in (".onnx", ".bin"))
    (container,) = PODS["deployment.yaml"]["containers"]
    allowed = [
        each["limits"]["memory"] for each in (SERVICES["bookbound"]["deploy"]["resources"], container["resources"])
    ]
    assert needed < min(int(memory.rstrip("Gi")) for memory in allowed) * 2**30


def test_every_image_is_pinned_to_a_version() -> None:
    for image in list_images():
        assert re.fullmatch(r"[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?[a-z0-9.-]*", image), image
    assert len({image.rpartition("/")[2] for image in list_images() if "bookbound" in image}) == 1


def test_the_image_has_the_version_of_the_package() -> None:
    assert f"bookbound:{bookbound.__version__}" == BOOKBOUND_IMAGE
    assert {image.rpartition("/")[2] for image in list_images() if "bookbound" in image} == {BOOKBOUND_IMAGE}


def test_every_probe_uses_a_path_and_port_of_the_service(app: FastAPI) -> None:
    probed = re.findall(rf"http://127\.0\.0\.1:{PORT}(/[\w/]*)", (REPOSITORY / "Dockerfile").read_text())
    probed += re.findall(rf"http://127\.0\.0\.1:{PORT}(/[\w/]*)", str(SERVICES["bookbound"]["healthcheck"]["test"]))
    (container,) = PODS["deployment.yaml"]["containers"]
    probes = {name: each["httpGet"] for name, each in container.items() if name.endswith("Probe")}
    assert probed == ["/health", "/health/ready"]
    assert probes["livenessProbe"]["path"] == probes["startupProbe"]["path"] == "/health"
    assert probes["readinessProbe"]["path"] == "/health/ready"
    assert {*probed, *(probe["path"] for probe in probes.values())} <= list_paths(app)
    assert {probe["port"] for probe in probes.values()} == {"http"}


def test_all_files_use_the_same_port() -> None:
    (container,) = PODS["deployment.yaml"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": PORT}]
    for command in (container["args"], SERVICES["bookbound"]["command"], json.loads(dict(read_stages()["run"])["CMD"])):
        assert command == ["serve", "--host", "0.0.0.0", "--port", str(PORT)]
    assert SERVICES["bookbound"]["expose"] == [str(PORT)]
    (port,) = MANIFESTS["service.yaml"]["spec"]["ports"]
    assert port["targetPort"] == "http"
    (rule,) = MANIFESTS["ingress.yaml"]["spec"]["rules"]
    for path in rule["http"]["paths"]:
        assert path["backend"]["service"] == {"name": "bookbound", "port": {"name": port["name"]}}
    assert MANIFESTS["network.yaml"]["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": PORT}]


def test_every_path_is_public_except_metrics_which_prometheus_reads(app: FastAPI) -> None:
    (rule,) = MANIFESTS["ingress.yaml"]["spec"]["rules"]
    passed = [path["path"] for path in rule["http"]["paths"]]
    for path in (*list_paths(app), "/openapi.json", "/books/a/ask"):
        assert any(path == each or path.startswith(f"{each}/") for each in passed), path
    assert not any("/metrics".startswith(each) for each in passed)
    proxy = (REPOSITORY / "deploy" / "proxy" / "nginx.conf").read_text(encoding="utf-8")
    assert re.search(r"location = /metrics \{\s+return 404;", proxy)
    annotations = MANIFESTS["deployment.yaml"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {
        "prometheus.io/scrape": "true",
        "prometheus.io/path": "/metrics",
        "prometheus.io/port": str(PORT),
    }
    (allowed,) = MANIFESTS["network.yaml"]["spec"]["ingress"]
    names = [each["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] for each in allowed["from"]]
    assert "monitoring" in names


def test_no_file_contains_a_secret() -> None:
    assert set(MANIFESTS["secret.example.yaml"]["stringData"].values()) == {""}
    assert not any(SECRET_NAME.search(name) for name in MANIFESTS["configmap.yaml"]["data"])
    assert [value for name, value in EXAMPLE_ENVIRONMENT.items() if SECRET_NAME.search(name) and value] == []
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            assert not SECRET_NAME.search(name) or "${" in value, name
    assert not any(
        SECRET_NAME.search(rest.partition("=")[0]) for word, rest in read_instructions() if word in ("ARG", "ENV")
    )


def test_the_grace_period_is_longer_than_answers_and_the_log_need() -> None:
    needed = (
        uvicorn_server._uvicorn_config(uvicorn_server.APP_FACTORY, Settings()).timeout_graceful_shutdown or 0
    ) + uvicorn_server.CLEANUP_SECONDS
    assert int(SERVICES["bookbound"]["stop_grace_period"].removesuffix("s")) > needed
    pod = PODS["deployment.yaml"]
    pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > needed + pause
