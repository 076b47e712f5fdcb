"""The discovery of texts that are not in any list, from short prefixes to whole texts.

Each device belongs to a random group. The groups report on prefixes of increasing length, so each
level of the search uses a different group. The groups that did not help to find a text then confirm
the text.

Source: Wang, Li & Jha 2021, "Locally differentially private heavy hitter identification", sections
4 and 5. This package differs from the source in two ways. Each group has its own public hash
function, which maps a prefix to an integer (the prefix's *cell*). Found texts are tested
statistically.
"""
