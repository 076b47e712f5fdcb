"""Decides when waiting reports are sent, sends them in uploads, and handles the responses.

Of these modules, only `transport` imports the library ``requests``.
"""
