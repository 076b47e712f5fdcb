"""The drawings and plots of the pages, made by ``make assets``.

They are readable in print, by the color-blind, and in the dark.
"""
