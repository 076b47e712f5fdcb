"""A rehearsal: known answers through the real laws, before any release.

Imports reports and estimates; commands and text import it.
"""
