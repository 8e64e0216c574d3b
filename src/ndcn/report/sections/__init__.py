"""The page's sections, a file for each."""
