"""Contains one script for each schema version."""
