"""Builds once per process what every application has, because each test makes an application of its own."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import pytest
from fastapi._compat import v2
from pydantic import TypeAdapter


@contextmanager
def share_application_parts() -> Iterator[None]:
    """Shares the validators of equal route fields and the compressed assets."""
    build = v2.ModelField.__post_init__
    validators = dict[tuple[object, ...], TypeAdapter[object]]()

    def build_once(field: v2.ModelField) -> None:
        found = v2.asdict(field.field_info)
        # `A | B` equals `B | A`, and a class of one test can have the name of another's: so both count.
        key = (found["annotation"], *map(repr, (found, field.mode, field.config)))
        if key not in validators:
            build(field)
            validators[key] = field._type_adapter
        field._type_adapter = validators[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(v2.ModelField, "__post_init__", build_once)
        patch.setattr("bookbound.server.page.gzip.compress", lru_cache(gzip.compress))
        yield
