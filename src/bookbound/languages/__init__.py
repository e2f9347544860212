"""Holds the words and patterns of each language, behind one port; `LANGUAGE` is that of the shipped networks."""

from __future__ import annotations

from bookbound.languages.english import ENGLISH
from bookbound.languages.language import Language, compiled

__all__ = ["LANGUAGE", "compiled"]

LANGUAGE: Language = ENGLISH
