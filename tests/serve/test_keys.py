"""What a key is, and from where it may be used."""

from __future__ import annotations

import pytest

from bookbound.errors import BadSetup
from bookbound.serve.keys import ANYWHERE, Key, Kind, Ring, hashed, origin

SITE, OTHER = "https://book.example", "https://evil.example"


def made(kind: Kind = Kind.PUBLISHABLE, *origins: str) -> tuple[Key, str]:
    return Key.new(kind, "a name", origins)


def test_a_key_has_256_bits_of_chance_and_is_kept_as_a_hash_alone() -> None:
    key, secret = made(Kind.PUBLISHABLE, SITE)
    assert len(secret.removeprefix("bookbound_publishable_")) == 43
    assert key.hash == hashed(secret)
    assert secret not in repr(key)
    assert key.hash not in repr(key)
    assert made(Kind.PUBLISHABLE, SITE)[1] != secret


def test_a_ring_finds_the_valid_key_and_no_other() -> None:
    (one, secret), (two, other) = made(Kind.ADMIN), made(Kind.ADMIN)
    ring = Ring((one, two))
    assert (ring.find(secret), ring.find(other)) == (one, two)
    for wrong in ("", secret[:-1], secret + "x", secret.upper(), one.hash, one.id, "schl\xfcssel"):
        assert ring.find(wrong) is None
    revoked = Ring((Key(one.id, one.kind, one.name, one.hash, one.origins, one.created, revoked="now"), two))
    assert (revoked.find(secret), revoked.find(other)) == (None, two)


@pytest.mark.parametrize(
    ("kind", "origins", "allowed"),
    [
        (Kind.PUBLISHABLE, (SITE,), {SITE}),
        (Kind.PUBLISHABLE, (ANYWHERE,), {SITE, OTHER, "null", None}),
        (Kind.ADMIN, (), {None}),
        (Kind.ADMIN, (SITE,), {SITE, None}),
    ],
)
def test_a_key_is_for_its_origins_and_without_one_for_admins_or_where_any_will_do(
    kind: Kind, origins: tuple[str, ...], allowed: set[str | None]
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
    assert origin(given) == kept


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "book.example", "https://", "https://a/b", "ftp://a", "https://*.a", "*", "https://a:0"),
        *("https://a:70000", "https://user@a", "null", "https://a?b", "https://a https://b"),
    ],
)
def test_what_is_no_origin_is_told(wrong: str) -> None:
    with pytest.raises(BadSetup, match=r"https://book\.example"):
        origin(wrong)


def test_a_publishable_key_says_where_it_may_be_used() -> None:
    with pytest.raises(BadSetup, match="--any-origin"):
        made(Kind.PUBLISHABLE)
    with pytest.raises(BadSetup, match="--any-origin"):
        made(Kind.PUBLISHABLE, SITE, ANYWHERE)


def test_a_ring_welcomes_the_origins_of_its_valid_keys() -> None:
    (bound, _), (admin, _) = made(Kind.PUBLISHABLE, SITE), made(Kind.ADMIN)
    assert Ring((bound, admin)).welcomes(SITE)
    assert not Ring((bound, admin)).welcomes(OTHER)
