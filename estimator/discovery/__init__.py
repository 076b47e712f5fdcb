"""The discovery of unlisted texts in a tally, level by level, from prefixes to whole texts.

A text is confirmed by groups of devices that were not used to find it.

Source: Wang, Li & Jha 2021, "Locally differentially private heavy hitter identification", sections
4 and 5 (in which each group of devices reports a prefix). In contrast to the source, every group
here has its own public hash, and the found texts are tested.
"""
