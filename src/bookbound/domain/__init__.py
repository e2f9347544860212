"""Defines the plain values and ports that all other packages share."""
