"""Rehearsals, which run known answers through the real mechanisms before any release.

This package uses the analyses and the results of the estimator. Only `estimator.commands` and
`estimator.render` import it.
"""
