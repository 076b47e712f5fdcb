"""An audit plays the installed SDK as a black box and proves how much it reveals at least.

It can refute a claim and never confirm one. It says which excess over the claim it would have seen.
What perturbs an answer can be proved instead: `estimator.audit.exact`. Imports the SDK by its
public names, as apps do; commands and text import it.
"""
