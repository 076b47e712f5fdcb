"""Rehearsals, which run known answers through the real mechanisms before any release.

This package imports reports and estimates. Commands and text output import it.
"""
