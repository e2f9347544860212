"""Checks that the words of the book support each sentence of an answer."""
