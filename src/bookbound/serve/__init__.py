"""The web application: one engine behind every face."""
