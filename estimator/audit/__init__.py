"""An audit plays the installed SDK as a black box and proves how much it reveals at least.

It can refute a claim but never confirm one. It states which excess over the claim it would have
detected. Imports the SDK by its public names, as apps do; commands and text import it.

The perturbation of an answer can be proved instead (`prove`). The exact audit walks every path of
coins through the SDK and proves how much a report of one answer reveals if the coins are fair. It
trusts the operating system's generator, and assumes that a pseudo-random function looks random to
anyone without its secret.
"""
