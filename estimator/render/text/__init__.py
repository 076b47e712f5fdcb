"""Reports, plans, rehearsals and audits as text, by default 80 characters wide.

This package imports the results that it shows. Commands import this package.
"""
