"""The commands of ``hearsay-collector``.

Each parses its options, calls what does the work, prints, and exits.
"""
