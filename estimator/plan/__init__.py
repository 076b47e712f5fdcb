"""Before any data: how precise each metric will be, and a better allocation of the budget."""
