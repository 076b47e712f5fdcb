"""The discovery of unlisted texts in a tally, level by level, from prefixes to whole texts.

Each device belongs to a random group. The groups report on prefixes of increasing length, so each
level of the search uses another group. A text that was found is confirmed by groups that were not
used to find it.

Source: Wang, Li & Jha 2021, "Locally differentially private heavy hitter identification", sections
4 and 5 (in which each group of devices reports a prefix of its text). In contrast to the source,
each group hashes its prefixes to cells with a public hash function of its own, and the found texts
are tested.
"""
