"""Reads the source of a documentation generator, one package or module per generator."""
