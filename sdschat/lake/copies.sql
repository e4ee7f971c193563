-- From bronze and the events of silver to the copies of messages that count, in Spark's dialect: see silver.sql for the
-- rest. They are not kept: of nearly all messages they are what bronze has.

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

-- Which messages may be in several readings? It was noted when they came, but not by older programs. They are few, so
-- that these alone are ordered.
CREATE TABLE reread AS
SELECT DISTINCT XXHASH64(run_id, channel, node, message_id) AS mark
FROM bronze_message
WHERE COALESCE(again, TRUE);

-- What does the latest of them say? Others may have the same mark, which is there since numbers are ordered sooner.
CREATE TABLE relogged AS
SELECT run_id, channel, node, message_id, lamport, sender, deps, digest, own, received_ms, damage
FROM (
  SELECT m.*, ROW_NUMBER() OVER (
      PARTITION BY t.mark, m.run_id, m.channel, m.node, m.message_id ORDER BY m.as_of DESC, m.read_ms DESC
    ) AS rank
  FROM bronze_message AS m
  JOIN reread AS t ON t.mark = XXHASH64(m.run_id, m.channel, m.node, m.message_id)
) AS messages
WHERE rank = 1 AND NOT gone;

-- Where there is no log, what was delivered first, by the journal? A log that was never read to its end does not count.
CREATE TABLE heard AS
SELECT run_id, channel, node, message_id, COALESCE(lamport, 0) AS lamport, COALESCE(sender, '') AS sender,
  COALESCE(deps, CAST(ARRAY() AS ARRAY<STRING>)) AS deps, COALESCE(sender = node, FALSE) AS own, ts_ms AS received_ms
FROM (
  SELECT e.run_id, e.channel, e.node, e.message_id, e.lamport, e.sender, e.deps, e.ts_ms, ROW_NUMBER() OVER (
    PARTITION BY e.run_id, e.channel, e.node, e.message_id ORDER BY e.began, e.boot, e.seq
  ) AS rank
  FROM silver_event AS e
  LEFT ANTI JOIN reading AS r ON r.run_id = e.run_id AND r.channel = e.channel AND r.node = e.node
  WHERE e.event = 'delivered' AND e.message_id IS NOT NULL
) AS deliveries
WHERE rank = 1;

-- Which node has which message, by a log or by a journal?
CREATE VIEW possessed AS
SELECT m.run_id, m.channel, m.node, m.message_id, m.lamport, m.sender, m.deps, m.digest, m.own, m.received_ms,
  'log' AS origin, m.damage
FROM bronze_message AS m
LEFT ANTI JOIN reread AS t ON t.mark = XXHASH64(m.run_id, m.channel, m.node, m.message_id)
WHERE NOT m.gone
UNION ALL
SELECT run_id, channel, node, message_id, lamport, sender, deps, digest, own, received_ms, 'log', damage
FROM relogged
UNION ALL
SELECT run_id, channel, node, message_id, lamport, sender, deps, '', own, received_ms, 'journal', CAST(NULL AS STRING)
FROM heard;

-- Which nodes are in each channel, by a database or by a journal? With a number for each node in a channel, and one for
-- each channel.
CREATE TABLE member_of AS
SELECT ROW_NUMBER() OVER (ORDER BY m.run_id, m.channel, m.node) AS member,
  DENSE_RANK() OVER (ORDER BY m.run_id, m.channel) AS chan, m.run_id, m.channel, m.node,
  CASE WHEN r.node IS NULL THEN 'journal' ELSE 'log' END AS origin
FROM (
  SELECT run_id, channel, node FROM silver_event WHERE channel <> ''
  UNION
  SELECT run_id, channel, node FROM heard
  UNION
  SELECT run_id, channel, node FROM reading
) AS m
LEFT JOIN reading AS r ON r.run_id = m.run_id AND r.channel = m.channel AND r.node = m.node;
