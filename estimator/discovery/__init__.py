"""Texts that nobody listed, found in a tally by levels of prefixes.

Groups that took no part in finding a text confirm it.

Source: Wang, Li & Jha 2021, "Locally differentially private heavy hitter identification", sections
4 and 5 (groups that each answer about a prefix). Here every group is a public hash of its own, and
what is found is tested.
"""
