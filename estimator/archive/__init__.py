"""The folder of ``report --out``: one folder for each closed window, and their index."""
