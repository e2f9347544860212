"""Writes drafts from passages, as quotes or with a language model."""
