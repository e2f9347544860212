"""Contains the published interfaces, one per file."""
