"""Serves the contracts over HTTP."""
