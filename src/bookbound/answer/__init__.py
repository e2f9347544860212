"""Passages become a draft: one file per kind of writer."""
