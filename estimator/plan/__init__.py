"""Before any data: how precise each metric will be, and a better allocation of the budget.

It accounts for privacy, too: upper bounds on what reports and published tallies reveal. Imports
estimates and what lies below them; reports, commands and text import it.
"""
