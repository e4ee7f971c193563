"""The audit: did everybody get everything, in the same order?

Tables and sources are plain Python; every answer is a view in `views.sql`. Importing this package imports nothing.
"""
