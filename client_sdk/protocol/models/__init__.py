"""One feature of several, drawn by a coin: the law of the report, and when it is the better one.

Imports the vocabulary's coins, epsilon and exact arithmetic, and laws of categories.
"""
