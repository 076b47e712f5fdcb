"""Texts that nobody listed: their analysis, and tallies drawn by their law."""
