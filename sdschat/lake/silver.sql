-- From bronze to silver, in Spark's dialect. `silver_duckdb.sql` follows from this file by
-- `python -m tests.audit.transpile`; a test compares them. Then come evidence.sql, views.sql of sdschat/audit, gold.sql.
--
-- An engine brings the tables bronze_journal, bronze_message, bronze_node, bronze_declared, bronze_run and rule, and the function
-- lane: sixteen hexadecimal digits as a signed number. Where only some channels are judged again, these tables have the
-- rows of those, and kept_event has the events of all others; old_journal is gold_journal as it was before.

-- Which reading of each database counts? The latest.
CREATE TABLE reading AS
SELECT run_id, channel, node, as_of, read_ms, nick, horizon, claimed, claimed_fingerprint, counted, counted_fingerprint,
  source
FROM (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY run_id, channel, node ORDER BY as_of DESC, read_ms DESC, source
  ) AS rank
  FROM bronze_node
) AS readings
WHERE rank = 1;

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
SELECT HASH(run_id, node, boot, seq) AS mark
FROM bronze_journal
GROUP BY HASH(run_id, node, boot, seq)
HAVING COUNT(*) > 1;

-- What happened, each event once?
CREATE VIEW happened AS
SELECT j.run_id, j.channel, j.node, j.boot, j.seq, j.ts_ms, j.event, j.message_id, j.sender, j.lamport, j.peer, j.bytes,
  j.payload_bytes, j.overhead_bytes, j.deps, j.attempt, j.cause
FROM bronze_journal AS j
LEFT ANTI JOIN retold AS t ON t.mark = HASH(j.run_id, j.node, j.boot, j.seq)
UNION ALL
SELECT run_id, channel, node, boot, seq, ts_ms, event, message_id, sender, lamport, peer, bytes, payload_bytes,
  overhead_bytes, deps, attempt, cause
FROM (
  SELECT j.*, ROW_NUMBER() OVER (
    PARTITION BY j.run_id, j.node, j.boot, j.seq ORDER BY j.ts_ms, j.event, j.channel, j.message_id
  ) AS rank
  FROM bronze_journal AS j
  JOIN retold AS t ON t.mark = HASH(j.run_id, j.node, j.boot, j.seq)
) AS events
WHERE rank = 1;

-- And in which run? A number that the event of a kept channel has is not given twice.
CREATE TABLE silver_event AS
SELECT h.run_id, h.channel, h.node, b.began, h.boot, h.seq, h.ts_ms, h.event, h.message_id, h.sender, h.lamport, h.peer,
  h.bytes, h.payload_bytes, h.overhead_bytes, h.deps, h.attempt, h.cause
FROM happened AS h
JOIN begun AS b ON b.run_id = h.run_id AND b.node = h.node AND b.boot = h.boot
LEFT ANTI JOIN kept_event AS k ON k.run_id = h.run_id AND k.node = h.node AND k.boot = h.boot AND k.seq = h.seq;

-- Which messages are in several readings? They are few as well.
CREATE TABLE reread AS
SELECT HASH(run_id, channel, node, message_id) AS mark
FROM bronze_message
GROUP BY HASH(run_id, channel, node, message_id)
HAVING COUNT(*) > 1;

-- What does the log of a database say of each message? A log that was never read to its end does not count.
CREATE VIEW logged AS
SELECT m.run_id, m.channel, m.node, m.message_id, m.lamport, m.sender, m.deps, m.digest, m.own, m.via, m.received_ms,
  m.damage
FROM bronze_message AS m
JOIN reading AS r ON r.run_id = m.run_id AND r.channel = m.channel AND r.node = m.node
LEFT ANTI JOIN reread AS t ON t.mark = HASH(m.run_id, m.channel, m.node, m.message_id)
WHERE NOT m.gone
UNION ALL
SELECT run_id, channel, node, message_id, lamport, sender, deps, digest, own, via, received_ms, damage
FROM (
  SELECT m.*, ROW_NUMBER() OVER (
      PARTITION BY m.run_id, m.channel, m.node, m.message_id ORDER BY m.as_of DESC, m.read_ms DESC
    ) AS rank
  FROM bronze_message AS m
  JOIN reading AS r ON r.run_id = m.run_id AND r.channel = m.channel AND r.node = m.node
  JOIN reread AS t ON t.mark = HASH(m.run_id, m.channel, m.node, m.message_id)
) AS messages
WHERE rank = 1 AND NOT gone;

-- Where there is no log, what was delivered first, by the journal?
CREATE VIEW heard AS
SELECT *
FROM (
  SELECT e.run_id, e.channel, e.node, e.message_id, e.lamport, e.sender, e.deps, e.cause, e.ts_ms, ROW_NUMBER() OVER (
    PARTITION BY e.run_id, e.channel, e.node, e.message_id ORDER BY e.began, e.boot, e.seq
  ) AS rank
  FROM silver_event AS e
  LEFT ANTI JOIN reading AS r ON r.run_id = e.run_id AND r.channel = e.channel AND r.node = e.node
  WHERE e.event = 'delivered' AND e.message_id IS NOT NULL
) AS deliveries
WHERE rank = 1;

-- Which node has which message?
CREATE TABLE silver_copy AS
SELECT run_id, channel, node, message_id, lamport, sender, deps, digest, own, via, received_ms, 'log' AS origin, damage
FROM logged
UNION ALL
SELECT run_id, channel, node, message_id, COALESCE(lamport, 0), COALESCE(sender, ''),
  COALESCE(deps, CAST(ARRAY() AS ARRAY<STRING>)), '', COALESCE(sender = node, FALSE), cause, ts_ms, 'journal',
  CAST(NULL AS STRING)
FROM heard;

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

-- From when to when was each node seen in each channel?
CREATE VIEW seen AS
SELECT run_id, channel, node, MIN(first_ms) AS first_ms, MAX(last_ms) AS last_ms
FROM (
  SELECT run_id, channel, node, MIN(ts_ms) AS first_ms, MAX(ts_ms) AS last_ms
  FROM silver_event
  WHERE channel <> ''
  GROUP BY run_id, channel, node
  UNION ALL
  SELECT run_id, channel, node, MIN(received_ms) AS first_ms, MAX(received_ms) AS last_ms
  FROM silver_copy
  GROUP BY run_id, channel, node
) AS sightings
GROUP BY run_id, channel, node;

-- Which nodes are in each channel, by a database or by a journal?
CREATE VIEW member_of AS
SELECT run_id, channel, node FROM seen
UNION
SELECT run_id, channel, node FROM reading;

-- And from when on are they owed messages?
CREATE TABLE silver_presence AS
SELECT m.run_id, m.channel, m.node, r.nick, CASE WHEN r.node IS NULL THEN 'journal' ELSE 'log' END AS origin,
  CASE WHEN r.node IS NULL THEN COALESCE(s.first_ms, 0) - u.max_skew ELSE r.horizon END AS horizon,
  CASE WHEN r.node IS NULL AND b.first_seq > 1 THEN b.begin_ms ELSE 0 END AS retained_from,
  COALESCE(s.first_ms, 0) AS first_ms, COALESCE(s.last_ms, 0) AS last_ms
FROM member_of AS m
CROSS JOIN rule AS u
LEFT JOIN reading AS r ON r.run_id = m.run_id AND r.channel = m.channel AND r.node = m.node
LEFT JOIN seen AS s ON s.run_id = m.run_id AND s.channel = m.channel AND s.node = m.node
LEFT JOIN beginning AS b ON b.run_id = m.run_id AND b.node = m.node;
