"""Hearsay's collector: judges uploads and keeps nothing but tallies of perturbed reports."""

from collector.app import create_app

__all__ = ["create_app"]
