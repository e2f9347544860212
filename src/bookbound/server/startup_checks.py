"""Checks the server settings before the server starts and warns about settings that have no effect."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from ipaddress import ip_address

from bookbound.server import api_keys
from bookbound.server.rate_limit import RateLimitPolicies, parse_networks
from bookbound.settings import Settings, format_index_option


def check_server_settings(settings: Settings, host: str) -> None:
    """Raise an error for settings that cannot work, and warn about those that are probably a mistake."""
    api_keys.parse_origins(settings.allowed_origins)
    RateLimitPolicies.from_settings(settings)
    for warning in _find_mistakes(settings, host):
        warnings.warn(warning, stacklevel=2)


def _find_mistakes(settings: Settings, host: str) -> Iterator[str]:
    keys = api_keys.load_keys(api_keys.key_file_path(settings))
    if settings.access_mode == "keys" and not keys.valid:
        yield _missing_key_message(settings)
    if not all(network.prefixlen for network in parse_networks(settings.trusted_proxies)):
        yield "The setting `trusted_proxies` names every address, so clients can forge theirs. Name only your proxy."
    if settings.access_mode == "public" and settings.rate_limits == "off" and not is_loopback(host):
        yield "Anyone can reach this address and ask without limit. Set `rate_limits` to on, or `access_mode` to keys."
    uses_cohere = "cohere" in (settings.embedder, settings.reranker)
    for name, needed, is_used in (
        ("llm_url", "`llm_model`", settings.llm_model is not None),
        ("embedder_model", "`embedder` to cohere or openai", settings.embedder != "local"),
        ("embedder_url", "`embedder` to openai", settings.embedder == "openai"),
        ("cohere_url", "`embedder` or `reranker` to cohere", uses_cohere),
        ("query_log_url", "`query_log` to on", settings.query_log == "on"),
        ("redis_url", "`rate_limits` to on", settings.rate_limits == "on"),
    ):
        if getattr(settings, name) is not None and not is_used:
            yield f"The setting `{name}` has no effect. To use it, set {needed}."


def _missing_key_message(settings: Settings) -> str:
    file = api_keys.key_file_path(settings)
    reason = "there is no valid key" if file.exists() else f"there is no key file at {file}"
    index_option = format_index_option(settings.index) if settings.key_file is None else ""
    return f"All questions are rejected, because {reason}. To make a key: {api_keys.CREATE_KEY_COMMAND}{index_option}"


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
