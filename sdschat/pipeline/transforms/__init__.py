"""The stages on Spark: functions from tables to tables, without reading, writing or collecting.

Each one returns a table of `sdschat.audit.schemas`, or its docstring gives the columns.
"""
