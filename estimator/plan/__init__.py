"""Before any data: how precise each metric will be, and a better allocation of the budget.

Imports estimates, privacy accounting and what lies below them; commands and text import it.
"""
