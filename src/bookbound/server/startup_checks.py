"""Checks the server settings before the server starts and warns about settings that have no effect."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from ipaddress import ip_address

from bookbound.server import api_keys
from bookbound.server.middleware.client_identity import parse_networks
from bookbound.server.rate_limit import RateLimitPolicies
from bookbound.settings import Settings, format_index_option


def check_server_settings(settings: Settings, host: str) -> None:
    """See that a server can run as it is set; what cannot be is an error, and what is hardly meant a warning."""
    api_keys.parse_origins(settings.origins)
    RateLimitPolicies.of(settings)
    ring = api_keys.load_keys(api_keys.key_file_path(settings))
    if settings.access == "keys" and not ring.valid:
        warnings.warn(_missing_key_message(settings), stacklevel=2)
    if not all(network.prefixlen for network in parse_networks(settings.proxies)):
        warnings.warn(
            "The setting `proxies` names every address there is, so that anybody may forge theirs and escape limits. "
            "Name your proxy alone.",
            stacklevel=2,
        )
    if settings.access == "public" and settings.limits == "off" and not _is_loopback(host):
        warnings.warn(
            "Everybody who reaches this address may ask without limit. Set `limits` to on, or `access` to keys.",
            stacklevel=2,
        )
    for name, needed in _find_unused_settings(settings):
        warnings.warn(f"The setting `{name}` has no effect: for that, set {needed}.", stacklevel=2)


def _missing_key_message(settings: Settings) -> str:
    """That there is no key yet, and how to make one where this server looks for it."""
    file = api_keys.key_file_path(settings)
    why = "there is no valid key" if file.exists() else f"there is no file of keys at {file}"
    place = format_index_option(settings.index) if settings.keys is None else ""
    return f"Nobody can ask yet, as {why}. To make a key: {api_keys.CREATE_KEY_COMMAND}{place}"


def _find_unused_settings(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each setting that is given and asks for another one which says otherwise."""
    cohere = "cohere" in (settings.embedder, settings.examiner)
    for name, needed, met in (
        ("model_url", "`model`", settings.model is not None),
        ("embed_model", "`embedder` to cohere or openai", settings.embedder != "local"),
        ("embed_url", "`embedder` to openai", settings.embedder == "openai"),
        ("cohere_url", "`embedder` or `examiner` to cohere", cohere),
        ("log_url", "`log` to on", settings.log == "on"),
        ("redis_url", "`limits` to on", settings.limits == "on"),
    ):
        if getattr(settings, name) is not None and not met:
            yield name, needed


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
