"""The pages of reference that are written from the code: commands, keys of the registry, the Python API."""
