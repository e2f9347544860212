"""Puts a service under load for minutes, with or without killing the processes that it needs."""
