"""What is set wrong for a server, or without effect, told before any work is done."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from ipaddress import ip_address

from bookbound.serve import keyfile, origins
from bookbound.serve.address import networks
from bookbound.serve.limits import Policies
from bookbound.settings import Settings, index_option


def check(settings: Settings, host: str) -> None:
    """See that a server can run as it is set; what cannot be is an error, and what is hardly meant a warning."""
    origins.named(settings.origins)
    Policies.of(settings)
    ring = keyfile.read(keyfile.place(settings))
    if settings.access == "keys" and not ring.valid:
        warnings.warn(_keyless(settings), stacklevel=2)
    if not all(network.prefixlen for network in networks(settings.proxies)):
        warnings.warn(
            "The setting `proxies` names every address there is, so that anybody may forge theirs and escape limits. "
            "Name your proxy alone.",
            stacklevel=2,
        )
    if settings.access == "public" and settings.limits == "off" and not _is_here(host):
        warnings.warn(
            "Everybody who reaches this address may ask without limit. Set `limits` to on, or `access` to keys.",
            stacklevel=2,
        )
    for name, needed in _idle(settings):
        warnings.warn(f"The setting `{name}` has no effect: for that, set {needed}.", stacklevel=2)


def _keyless(settings: Settings) -> str:
    """That there is no key yet, and how to make one where this server looks for it."""
    file = keyfile.place(settings)
    why = "there is no valid key" if file.exists() else f"there is no file of keys at {file}"
    place = index_option(settings.index) if settings.keys is None else ""
    return f"Nobody can ask yet, as {why}. To make a key: {keyfile.MAKE}{place}"


def _idle(settings: Settings) -> Iterator[tuple[str, str]]:
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


def _is_here(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
