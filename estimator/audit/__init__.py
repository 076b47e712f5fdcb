"""Audits of the installed SDK: attacks on a black box, and exact proofs.

The audit by attacks (`run`) treats the SDK as a black box, and imports only its public names, as
apps do. It simulates devices with two different answers, and tries to tell these devices apart by
the bytes that they send. Its success rate proves a lower bound on epsilon. If this bound exceeds
the epsilon that the SDK charges, the SDK reveals too much. If the bound is lower, the SDK may still
reveal too much, so the audit also states how large an excess it would have detected.

The exact audit (`prove`) runs the SDK with every possible outcome of its *coins*, which are its
random draws. This proves exactly how much a report of one answer reveals. The proof makes two
assumptions. The operating system's random numbers are fair. Without knowing a device's secret,
nobody can distinguish its pseudo-random numbers from random numbers.
"""
