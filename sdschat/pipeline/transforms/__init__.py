"""The stages on Spark: functions from tables to tables, without reading, writing or collecting. What each gives is a
table of `sdschat.pipeline.schemas`, or says so."""
