"""Rehearsals: known answers are reported by the real laws, before any release.

Imports reports and estimates; commands and text import it.
"""
