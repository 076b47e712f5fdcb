"""The report as an HTML file. `page` selects; templates format, with the filters of `wording`."""
