"""The drawings and plots of the pages, made by ``make assets``: readable in print, by the colour-blind, in the dark."""
