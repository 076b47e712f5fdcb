"""The discovery of unlisted texts in a tally, level by level, from prefixes to whole texts.

Each device belongs to a random group. The groups report on prefixes of increasing length, so each
level of the search uses another group. A found text is then confirmed by other groups.

Source: Wang, Li & Jha 2021, "Locally differentially private heavy hitter identification", sections
4 and 5. In contrast to the source, each group has its own public hash function from prefixes to
cells, and found texts are tested.
"""
