"""What runs through all the files for containers: settings, versions, ports, paths, secrets, patience."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from tests.deploy.files import (
    EXAMPLE,
    KNOWN,
    MANIFESTS,
    OURS,
    PODS,
    PORT,
    REPOSITORY,
    SECRET,
    SERVICES,
    deployed,
    images,
    instructions,
    named,
    stages,
)

from bookbound.bootstrap import web_app
from bookbound.server import uvicorn_server


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return web_app.create_web_app()


def paths(app: FastAPI) -> set[str]:
    return set(app.openapi()["paths"])


@pytest.mark.parametrize("file", deployed(), ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_every_setting_that_is_named_is_one(file: Path) -> None:
    assert named(file.read_text(encoding="utf-8")) - KNOWN == set()


def test_every_image_is_pinned_to_a_whole_version() -> None:
    for image in images():
        assert re.fullmatch(r"[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?[a-z0-9.-]*", image), image
    assert len({image.rpartition("/")[2] for image in images() if "bookbound" in image}) == 1


def test_the_image_is_of_this_version() -> None:
    version = re.search(
        r'^version = "(.*)"$', (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert version
    assert f"bookbound:{version[1]}" == OURS
    assert {image.rpartition("/")[2] for image in images() if "bookbound" in image} == {OURS}


def test_every_probe_asks_for_a_path_and_a_port_that_the_service_has(app: FastAPI) -> None:
    asked = re.findall(rf"http://127\.0\.0\.1:{PORT}(/[\w/]*)", (REPOSITORY / "Dockerfile").read_text())
    asked += re.findall(rf"http://127\.0\.0\.1:{PORT}(/[\w/]*)", str(SERVICES["bookbound"]["healthcheck"]["test"]))
    (container,) = PODS["deployment.yaml"]["containers"]
    probes = {name: each["httpGet"] for name, each in container.items() if name.endswith("Probe")}
    assert asked == ["/health", "/health/ready"]
    assert probes["livenessProbe"]["path"] == probes["startupProbe"]["path"] == "/health"
    assert probes["readinessProbe"]["path"] == "/health/ready"
    assert {*asked, *(probe["path"] for probe in probes.values())} <= paths(app)
    assert {probe["port"] for probe in probes.values()} == {"http"}


def test_one_port_runs_through_all_files() -> None:
    (container,) = PODS["deployment.yaml"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": PORT}]
    for command in (container["args"], SERVICES["bookbound"]["command"], json.loads(dict(stages()["run"])["CMD"])):
        assert command == ["serve", "--host", "0.0.0.0", "--port", str(PORT)]
    assert SERVICES["bookbound"]["expose"] == [str(PORT)]
    (port,) = MANIFESTS["service.yaml"]["spec"]["ports"]
    assert port["targetPort"] == "http"
    (rule,) = MANIFESTS["ingress.yaml"]["spec"]["rules"]
    for path in rule["http"]["paths"]:
        assert path["backend"]["service"] == {"name": "bookbound", "port": {"name": port["name"]}}
    assert MANIFESTS["network.yaml"]["spec"]["ingress"][0]["ports"] == [{"protocol": "TCP", "port": PORT}]


def test_every_path_is_passed_on_but_that_of_the_figures_which_prometheus_finds(app: FastAPI) -> None:
    (rule,) = MANIFESTS["ingress.yaml"]["spec"]["rules"]
    passed = [path["path"] for path in rule["http"]["paths"]]
    for path in (*paths(app), "/openapi.json", "/books/a/ask"):
        assert any(path == each or path.startswith(f"{each}/") for each in passed), path
    assert not any("/metrics".startswith(each) for each in passed)
    proxy = (REPOSITORY / "deploy" / "proxy" / "nginx.conf").read_text(encoding="utf-8")
    assert re.search(r"location = /metrics \{\s+return 404;", proxy)
    told = MANIFESTS["deployment.yaml"]["spec"]["template"]["metadata"]["annotations"]
    assert told == {"prometheus.io/scrape": "true", "prometheus.io/path": "/metrics", "prometheus.io/port": str(PORT)}
    (let_in,) = MANIFESTS["network.yaml"]["spec"]["ingress"]
    names = [each["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] for each in let_in["from"]]
    assert "monitoring" in names


def test_no_file_holds_a_secret() -> None:
    assert set(MANIFESTS["secret.example.yaml"]["stringData"].values()) == {""}
    assert not any(SECRET.search(name) for name in MANIFESTS["configmap.yaml"]["data"])
    assert [value for name, value in EXAMPLE.items() if SECRET.search(name) and value] == []
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            assert not SECRET.search(name) or "${" in value, name
    assert not any(SECRET.search(rest.partition("=")[0]) for word, rest in instructions() if word in ("ARG", "ENV"))


def test_a_stop_is_waited_for_longer_than_answers_and_the_log_may_take() -> None:
    needed = (
        uvicorn_server._uvicorn_config(uvicorn_server.APP_FACTORY).timeout_graceful_shutdown or 0
    ) + uvicorn_server.CLEANUP_SECONDS
    assert int(SERVICES["bookbound"]["stop_grace_period"].removesuffix("s")) > needed
    pod = PODS["deployment.yaml"]
    pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > needed + pause
