"""From the logs of many nodes to one canonical log, a verdict, figures and simulations.

Importing this package imports nothing: Spark, pyarrow and numpy come with the modules that need them.
"""
