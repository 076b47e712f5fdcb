"""The report as an HTML file: `page` selects its contents, and templates lay them out."""
