"""The commands of ``hearsay-collector``: options in, exit status out."""
