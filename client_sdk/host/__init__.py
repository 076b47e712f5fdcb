"""The process and the machine that the SDK runs in.

Imports the standard library only.
"""
