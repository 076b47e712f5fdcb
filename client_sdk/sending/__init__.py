"""Sends waiting reports: the times, the uploads, and the treatment of responses.

Only `transport` imports the library ``requests``.
"""
