-- Which channels have to be judged again, in Spark's dialect: see silver.sql for the rest.
--
-- An engine brings new_journal, new_message, new_version, new_node, new_declared and new_run: the rows that came in since
-- the last verdict, among which may be some of before; and old_event, old_presence and old_journal, as that verdict left
-- them.

-- Which nodes have journals that begin otherwise than before, or a number with another event, or another database? In
-- all channels of such a node the order of events may be another one now, or what it is owed.
CREATE VIEW moved AS
SELECT n.run_id, n.node
FROM new_journal AS n
JOIN old_journal AS o ON o.run_id = n.run_id AND o.node = n.node AND o.boot = n.boot
WHERE n.ts_ms < o.first_ms OR n.seq < o.first_seq
UNION
SELECT n.run_id, n.node
FROM new_journal AS n
JOIN (SELECT run_id, node, MIN(first_ms) AS first_ms FROM old_journal GROUP BY run_id, node) AS o
  ON o.run_id = n.run_id AND o.node = n.node AND n.ts_ms <= o.first_ms
LEFT ANTI JOIN old_journal AS k ON k.run_id = n.run_id AND k.node = n.node AND k.boot = n.boot
UNION
SELECT n.run_id, n.node
FROM new_journal AS n
JOIN old_event AS o ON o.run_id = n.run_id AND o.node = n.node AND o.boot = n.boot AND o.seq = n.seq
WHERE o.channel <> n.channel OR o.ts_ms <> n.ts_ms
UNION
SELECT run_id, node FROM new_run;

-- So which channels? Those with new rows, and all of these nodes.
CREATE VIEW touched AS
SELECT run_id, channel FROM new_journal
UNION
SELECT run_id, channel FROM new_message
UNION
SELECT run_id, channel FROM new_node
UNION
SELECT run_id, channel FROM new_declared
UNION
SELECT run_id, channel FROM new_version
UNION
SELECT p.run_id, p.channel
FROM old_presence AS p
JOIN moved AS m ON m.run_id = p.run_id AND m.node = p.node
UNION
SELECT run_id, '' FROM moved;
