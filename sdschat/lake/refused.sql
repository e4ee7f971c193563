-- What could not be read, now or earlier, in Spark's dialect: `refused_duckdb.sql` follows from this file by
-- `python -m tests.audit.transpile`. It is made from `quarantined` and `whole`, the tables of bronze.

-- Which rows of the quarantine count? A row counts until the same file, or a database of the same node that is at least
-- as far, was taken in to its end. Databases of several nodes may come from the same path, for example from a shared USB
-- stick: one does not repair another. If the node of a damaged database is unknown, the next database from its path
-- counts as its repair.
CREATE VIEW refused AS
SELECT b.*
FROM quarantined AS b
WHERE NOT EXISTS (
  SELECT 1
  FROM whole AS g
  WHERE g.run_id = b.run_id AND g.read_ms > b.read_ms AND (
    (g.source = b.source AND (g.node = COALESCE(b.node, '') OR COALESCE(b.node, '') = ''))
    OR (g.node = COALESCE(b.node, '') AND COALESCE(b.node, '') <> '' AND g.as_of >= b.as_of)
  )
);
