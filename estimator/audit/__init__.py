"""An audit plays the installed SDK as a black box and proves how much it reveals at least.

It can refute a claim and never confirm one. It says which excess over the claim it would have seen.
Imports the SDK by its public names, as apps do; commands and text import it.

What perturbs an answer can be proved instead (`prove`). The exact audit walks every path of coins
through the SDK and proves how much a report of one answer reveals if the coins are fair. It takes
for granted the operating system's generator, and that a pseudo-random function looks random to
anyone without its secret.
"""
