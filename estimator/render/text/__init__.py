"""Reports, plans, rehearsals and audits as text of 80 columns."""
