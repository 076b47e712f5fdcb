"""The reference pages written from the code: commands, keys of the registry, the Python API."""
