"""The checks before a deployment, a line each."""
