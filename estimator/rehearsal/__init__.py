"""Rehearsals, which run known answers through the real mechanisms before any release."""
