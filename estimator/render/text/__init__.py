"""Reports, plans, rehearsals and audits as text of 80 columns.

This package imports the results that it shows. The commands import it.
"""
