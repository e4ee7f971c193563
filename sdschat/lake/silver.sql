-- From bronze to silver, in Spark's dialect. `silver_duckdb.sql` follows from this file by
-- `python -m tests.audit.transpile`; a test compares them. Then come copies.sql, evidence.sql, presence.sql and
-- gold.sql, with holding.sql and views.sql of sdschat/audit between them (`judge.py`).
--
-- An engine brings the tables bronze_journal, bronze_message, bronze_node, bronze_declared, bronze_run and rule. Where only
-- some channels are judged again, these have the rows of those, and kept_event has the events of all others; old_journal
-- is gold_journal as it was before.

-- When did each run of the program begin?
CREATE TABLE begun AS
SELECT run_id, node, boot, MIN(ts_ms) AS began
FROM (
  SELECT run_id, node, boot, ts_ms FROM bronze_journal
  UNION ALL
  SELECT run_id, node, boot, first_ms FROM old_journal
) AS moments
GROUP BY run_id, node, boot;

-- Which events came more than once? They are few, so that these alone are ordered. Others may have the same number.
CREATE TABLE retold AS
SELECT XXHASH64(run_id, node, boot, seq) AS mark
FROM bronze_journal
GROUP BY XXHASH64(run_id, node, boot, seq)
HAVING COUNT(*) > 1;

-- What happened, each event once?
CREATE VIEW happened AS
SELECT j.run_id, j.channel, j.node, j.boot, j.seq, j.ts_ms, j.event, j.message_id, j.sender, j.lamport, j.peer, j.bytes,
  j.payload_bytes, j.overhead_bytes, j.deps, j.attempt, j.cause
FROM bronze_journal AS j
LEFT ANTI JOIN retold AS t ON t.mark = XXHASH64(j.run_id, j.node, j.boot, j.seq)
UNION ALL
SELECT run_id, channel, node, boot, seq, ts_ms, event, message_id, sender, lamport, peer, bytes, payload_bytes,
  overhead_bytes, deps, attempt, cause
FROM (
  SELECT j.*, ROW_NUMBER() OVER (
    PARTITION BY j.run_id, j.node, j.boot, j.seq ORDER BY j.ts_ms, j.event, j.channel, j.message_id
  ) AS rank
  FROM bronze_journal AS j
  JOIN retold AS t ON t.mark = XXHASH64(j.run_id, j.node, j.boot, j.seq)
) AS events
WHERE rank = 1;

-- And in which run? A number that the event of a kept channel has is not given twice.
CREATE TABLE silver_event AS
SELECT h.run_id, h.channel, h.node, b.began, h.boot, h.seq, h.ts_ms, h.event, h.message_id, h.sender, h.lamport, h.peer,
  h.bytes, h.payload_bytes, h.overhead_bytes, h.deps, h.attempt, h.cause
FROM happened AS h
JOIN begun AS b ON b.run_id = h.run_id AND b.node = h.node AND b.boot = h.boot
LEFT ANTI JOIN kept_event AS k ON k.run_id = h.run_id AND k.node = h.node AND k.boot = h.boot AND k.seq = h.seq;

-- Of each journal of one run of a node, is all there?
CREATE TABLE silver_journal AS
SELECT run_id, node, boot, MIN(seq) AS first_seq, MAX(seq) AS last_seq, COUNT(*) AS rows, MIN(ts_ms) AS first_ms,
  MAX(ts_ms) AS last_ms, MIN_BY(ts_ms, seq) AS begin_ms
FROM (
  SELECT run_id, node, boot, seq, ts_ms FROM silver_event
  UNION ALL
  SELECT run_id, node, boot, seq, ts_ms FROM kept_event
) AS every_event
GROUP BY run_id, node, boot;

-- Where does the first of them begin?
CREATE VIEW beginning AS
SELECT run_id, node, first_seq, begin_ms
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY run_id, node ORDER BY first_ms, boot) AS rank
  FROM silver_journal
) AS journals
WHERE rank = 1;
