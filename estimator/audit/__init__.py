"""Audits of the installed SDK: attacks on a black box, and exact proofs.

An audit by attacks runs the SDK as a black box, and proves a lower bound on how much the SDK
reveals. Such an audit can refute a claim but never confirm one. It also states how large a
violation of the claim it would have detected. It imports the SDK by its public names, as apps do.

The exact audit (`prove`) runs the SDK with every possible outcome of its coins. If the coins are
fair, this proves exactly how much a report of one answer reveals. This proof relies on the
operating system's random number generator. It also assumes that a pseudo-random function looks
random to anyone without its secret.
"""
