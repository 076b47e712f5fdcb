"""Audits of the installed SDK: attacks on a black box, and exact proofs.

The audit by attacks (`run`) calls the SDK only as apps do. The audit simulates two groups of
devices, one group for each of two different answers. From the bytes that the devices send, the
audit then tries to tell the groups apart. The success rate of these attempts proves a lower bound
on the true epsilon. If this bound exceeds the epsilon that the SDK charges for the reports, the SDK
reveals too much. A smaller bound does not prove that the SDK is safe. The audit therefore also
states the excess over the charged epsilon that about half of all such audits would detect.

The exact audit (`prove`) runs the SDK with every outcome of its random draws, called *coins*. The
result is an exact proof of the privacy loss of one report. The proof makes two assumptions. First,
the operating system's random numbers are fair. Second, without a device's secret, nobody can
distinguish the device's pseudo-random numbers from random numbers.
"""
