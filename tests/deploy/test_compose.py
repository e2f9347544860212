"""The services of compose.yaml are confined, bounded, and find each other."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.deploy.files import COMPOSE, EXAMPLE_ENVIRONMENT, PORT, REPOSITORY, SECRET_NAME, SERVICES

from bookbound.settings import Settings

INDEX_PATHS = ("/v1/index", "/v1/index/rollback")


def test_the_qdrant_server_is_within_one_minor_version_of_the_client() -> None:
    lock = (REPOSITORY / "requirements-dev.lock").read_text(encoding="utf-8")
    client = re.search(r"^qdrant-client==(\d+)\.(\d+)", lock, re.MULTILINE)
    runs = re.search(r":v(\d+)\.(\d+)", SERVICES["qdrant"]["image"])
    assert client
    assert runs
    assert client[1] == runs[1]
    assert abs(int(client[2]) - int(runs[2])) <= 1


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)
def test_every_container_is_confined_and_bounded(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    assert "cap_add" not in service
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])
    assert {"cpus", "memory", "pids"} <= set(service["deploy"]["resources"]["limits"])
    assert all("size=" in place for place in service["tmpfs"])
    assert service["healthcheck"]


def test_replicas_wait_for_their_services_and_the_proxy_waits_for_replicas() -> None:
    assert SERVICES["bookbound"]["deploy"]["replicas"] == 2
    assert "ports" not in SERVICES["bookbound"]
    for service in SERVICES.values():
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert "test" in SERVICES[other]["healthcheck"]
    assert set(SERVICES["bookbound"]["depends_on"]) == {"qdrant", "postgres", "redis"}
    assert set(SERVICES["proxy"]["depends_on"]) == {"bookbound"}
    assert COMPOSE["networks"]["back"]["internal"] is True
    assert all("front" not in SERVICES[name]["networks"] for name in ("qdrant", "postgres", "redis", "index"))
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]


def test_addresses_in_settings_belong_to_services_in_the_same_network() -> None:
    environment = SERVICES["bookbound"]["environment"]
    for setting in ("BOOKBOUND_QDRANT_URL", "BOOKBOUND_QUERY_LOG_URL", "BOOKBOUND_REDIS_URL"):
        host = re.search(r"(?://|@)([a-z]+):\d+", environment[setting])
        assert host
        assert set(SERVICES[host[1]]["networks"]) & set(SERVICES["bookbound"]["networks"])


def test_only_the_proxy_may_name_the_client_address() -> None:
    (network,) = COMPOSE["networks"]["front"]["ipam"]["config"]
    assert SERVICES["bookbound"]["environment"]["BOOKBOUND_TRUSTED_PROXIES"] == network["subnet"]
    assert {name for name, service in SERVICES.items() if "front" in service["networks"]} == {"proxy", "bookbound"}


def test_the_proxy_finds_the_replicas_and_clients_cannot_choose_their_address() -> None:
    proxy = (REPOSITORY / "deploy" / "proxy" / "nginx.conf").read_text(encoding="utf-8")
    listens = re.search(r"listen (\d+);", proxy)
    assert listens
    assert SERVICES["proxy"]["ports"][0].endswith(f":{listens[1]}")
    assert f"server bookbound:{PORT} resolve" in proxy
    assert "X-Forwarded-For $remote_addr;" in proxy
    assert "$proxy_add_x_forwarded_for" not in proxy
    assert "access_log off;" in proxy
    largest = re.search(r"client_max_body_size (\d+)k;", proxy)
    assert largest
    assert int(largest[1]) * 1024 == Settings().max_body_bytes


def test_requests_that_change_the_index_are_sent_once_and_no_replica_is_taken_out() -> None:
    proxy = (REPOSITORY / "deploy" / "proxy" / "nginx.conf").read_text(encoding="utf-8")
    places = dict(re.findall(r"location ([^{]+) \{(.*?)\n        \}", proxy, re.DOTALL))
    (pattern,) = (place.removeprefix("~ ") for place in places if place.startswith("~ "))
    for path in (*INDEX_PATHS, *(f"/books/robots@1.9{path}" for path in INDEX_PATHS)):
        assert re.search(pattern, path)
    assert not any(re.search(pattern, path) for path in ("/v1/answers", "/ask", "/books/v1/ask"))
    assert "proxy_next_upstream off;" in places[f"~ {pattern}"]
    assert "non_idempotent" in places["/"]
    assert "max_fails=0;" in proxy
    assert all("proxy_set_header" not in place for place in places.values()), "it would replace those of the server"


def test_replicas_read_the_keys_that_the_key_service_writes() -> None:
    mounted = {name: SERVICES[name]["volumes"] for name in ("bookbound", "key")}
    place = SERVICES["bookbound"]["environment"]["BOOKBOUND_KEY_FILE"].rpartition("/")[0]
    assert mounted == {"bookbound": [f"keys:{place}:ro"], "key": [f"keys:{place}"]}
    assert "keys" in COMPOSE["volumes"]
    assert SERVICES["key"]["environment"] == SERVICES["bookbound"]["environment"]
    assert SERVICES["key"]["entrypoint"] == ["bookbound", "key"]
    image = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(rf"install --directory --owner=10001 .* {place}$", image, re.MULTILINE), "a volume takes its owner"


def test_every_secret_of_compose_is_in_the_example_and_required() -> None:
    text = (REPOSITORY / "compose.yaml").read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{(\w+)", text))
    assert used == set(EXAMPLE_ENVIRONMENT)
    required = set(re.findall(r"\$\{(\w+):\?", text))
    assert required == {name for name in EXAMPLE_ENVIRONMENT if SECRET_NAME.search(name)}
