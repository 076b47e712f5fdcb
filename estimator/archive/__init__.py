"""The folder of ``report --out``: a folder for each closed window, and an index of them.

Imports reports and their forms; the commands import it.
"""
