"""Reads questions and passages together to find out which passages answer."""
