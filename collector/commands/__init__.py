"""The commands of ``hearsay-collector``.

A command parses its options, calls the module that does the work, prints the result, and exits.
"""
