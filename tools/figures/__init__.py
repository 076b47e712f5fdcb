"""The drawings and plots of the pages, made by ``make assets``.

The pictures are readable in print, in dark mode and for color-blind people.
"""
