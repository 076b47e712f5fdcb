"""Plots of results, by matplotlib, which the extra ``plot`` installs."""
