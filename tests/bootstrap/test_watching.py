from __future__ import annotations

import subprocess
import sys

import pytest

from bookbound.bootstrap import web_app
from bookbound.domain.errors import ConfigError
from bookbound.server.telemetry import QueueStats
from bookbound.settings import Settings


@pytest.mark.parametrize("url", ["collector", "ftp://host", "http://user:secret@host:4318", "http://host/?key=secret"])
def test_an_address_for_spans_that_is_none_is_told_before_anything_is_served(url: str) -> None:
    for told in (web_app.check_telemetry, lambda chosen: web_app.build_telemetry(chosen, QueueStats)):
        with pytest.raises(ConfigError, match="`traces_url`") as trouble:
            told(Settings(traces_url=url))
        assert "secret" not in str(trouble.value)


def test_without_the_packages_for_spans_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "bookbound.server.telemetry.opentelemetry", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigError, match=r"bookbound\[tracing\]"):
        web_app.check_telemetry(Settings(traces_url="http://127.0.0.1:4318"))


@pytest.mark.parametrize(("chosen", "expected"), [({"metrics": "off"}, False), ({"metrics": "on"}, True)])
def test_what_is_off_is_not_imported(chosen: dict[str, str], expected: bool) -> None:
    code = f"""
import sys
from bookbound.bootstrap import watching
from bookbound.settings import Settings
from bookbound.server.telemetry import Standing
watching.ready(Settings(**{chosen!r}))
watching.watch(Settings(**{chosen!r}), Standing)
print("opentelemetry.sdk" in sys.modules, "prometheus_client" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", str(expected)]
