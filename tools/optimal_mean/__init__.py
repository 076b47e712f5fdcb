"""Derives the tables of the mechanism ``optimal-mean``, and compares them with a linear program.

A device reports one of several symbols. Some neighboring symbols form a band. These symbols are
e**epsilon times as likely as the others. The band slides over the symbols: a larger answer has a
higher band. Each symbol has a score, and the mean of the reported scores is the estimate.

The *worst variance* of a channel is the largest variance of a report's score for any answer. A
table states, for one epsilon, the width of the band and the steps by which it slides. The scores
follow from this table. A table has the smallest possible worst variance.
"""
