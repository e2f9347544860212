"""What a key is, and from where it may be used."""

from __future__ import annotations

import pytest

from bookbound.domain.errors import ConfigError
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind, KeyRing, hash_secret, normalize_origin

SITE, OTHER = "https://book.example", "https://evil.example"


def made(kind: KeyKind = KeyKind.PUBLISHABLE, *origins: str) -> tuple[ApiKey, str]:
    return ApiKey.new(kind, "a name", origins)


def test_a_key_has_256_bits_of_chance_and_is_kept_as_a_hash_alone() -> None:
    key, secret = made(KeyKind.PUBLISHABLE, SITE)
    assert len(secret.removeprefix("bookbound_publishable_")) == 43
    assert key.hash == hash_secret(secret)
    assert secret not in repr(key)
    assert key.hash not in repr(key)
    assert made(KeyKind.PUBLISHABLE, SITE)[1] != secret


def test_a_ring_finds_the_valid_key_and_no_other() -> None:
    (one, secret), (two, other) = made(KeyKind.ADMIN), made(KeyKind.ADMIN)
    ring = KeyRing((one, two))
    assert (ring.find(secret), ring.find(other)) == (one, two)
    for wrong in ("", secret[:-1], secret + "x", secret.upper(), one.hash, one.id, "schl\xfcssel"):
        assert ring.find(wrong) is None
    revoked = KeyRing((ApiKey(one.id, one.kind, one.name, one.hash, one.origins, one.created, revoked="now"), two))
    assert (revoked.find(secret), revoked.find(other)) == (None, two)


@pytest.mark.parametrize(
    ("kind", "origins", "allowed"),
    [
        (KeyKind.PUBLISHABLE, (SITE,), {SITE}),
        (KeyKind.PUBLISHABLE, (ANY_ORIGIN,), {SITE, OTHER, "null", None}),
        (KeyKind.ADMIN, (), {None}),
        (KeyKind.ADMIN, (SITE,), {SITE, None}),
    ],
)
def test_a_key_is_for_its_origins_and_without_one_for_admins_or_where_any_will_do(
    kind: KeyKind, origins: tuple[str, ...], allowed: set[str | None]
) -> None:
    key, _ = made(kind, *origins)
    assert {sent for sent in (SITE, OTHER, "null", None) if key.allows(sent)} == allowed


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://book.example", "https://book.example"),
        (" HTTPS://Book.Example:443/ ", "https://book.example"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("https://book.example:80", "https://book.example:80"),
    ],
)
def test_an_origin_is_kept_as_browsers_spell_it(given: str, kept: str) -> None:
    assert normalize_origin(given) == kept


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "book.example", "https://", "https://a/b", "ftp://a", "https://*.a", "*", "https://a:0"),
        *("https://a:70000", "https://user@a", "null", "https://a?b", "https://a https://b"),
    ],
)
def test_what_is_no_origin_is_told(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"https://book\.example"):
        normalize_origin(wrong)


def test_a_publishable_key_says_where_it_may_be_used() -> None:
    with pytest.raises(ConfigError, match="--any-origin"):
        made(KeyKind.PUBLISHABLE)
    with pytest.raises(ConfigError, match="--any-origin"):
        made(KeyKind.PUBLISHABLE, SITE, ANY_ORIGIN)


def test_a_ring_welcomes_the_origins_of_its_valid_keys() -> None:
    (bound, _), (admin, _) = made(KeyKind.PUBLISHABLE, SITE), made(KeyKind.ADMIN)
    assert KeyRing((bound, admin)).welcomes(SITE)
    assert not KeyRing((bound, admin)).welcomes(OTHER)
