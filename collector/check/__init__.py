"""Checks before a deployment. Each yields results of one line; nothing is changed."""
