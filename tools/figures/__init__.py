"""The drawings and plots of the pages, made by ``make assets``.

They are readable in print, by color-blind people, and in dark mode.
"""
