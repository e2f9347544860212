"""Stores the generations of an index in a folder or on a Qdrant server."""
