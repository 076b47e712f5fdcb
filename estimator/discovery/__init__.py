"""Texts without a list of answers, found in a tally level by level, from prefixes.

A text is confirmed by groups that were not used to find it.

Source: Wang, Li & Jha 2021, "Locally differentially private heavy hitter identification", sections
4 and 5 (groups that each answer about a prefix). Here every group has its own public hash, and the
texts found are tested.
"""
