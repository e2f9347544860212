"""Contains the ASGI middleware that every request passes."""
