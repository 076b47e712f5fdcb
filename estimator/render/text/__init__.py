"""Reports, plans, rehearsals and audits as text of 80 columns.

Imports what it shows; the commands import it.
"""
