"""The service over HTTP: bytes in, status out.

Besides the relay and the problem documents of `api`, this is the only folder that imports Flask.
"""
