"""Reports, plans, rehearsals and audits as text, by default 80 characters wide."""
