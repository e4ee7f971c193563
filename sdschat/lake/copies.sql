-- From bronze and the events of silver to the nodes of each channel, and to what journals alone know of, in Spark's
-- dialect: see silver.sql for the rest.

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

-- Which nodes are in each channel, by a database or by a journal? With a number for each channel, and one for each node
-- in it. It follows from what they are, unless it stands for two, as it does if somebody looks for such ids: these are
-- counted.
CREATE TABLE member_of AS
SELECT CASE WHEN COUNT(*) OVER (PARTITION BY m.number) = 1 THEN m.number
    ELSE -ROW_NUMBER() OVER (ORDER BY m.run_id, m.channel, m.node) END AS member,
  DENSE_RANK() OVER (ORDER BY m.run_id, m.channel) AS chan, m.run_id, m.channel, m.node,
  CASE WHEN r.node IS NULL THEN 'journal' ELSE 'log' END AS origin
FROM (
  SELECT *, CAST(CONV(SUBSTRING(MD5(CONCAT_WS(CHR(31), run_id, channel, node)), 1, 15), 16, 10) AS BIGINT) AS number
  FROM (
    SELECT run_id, channel, node FROM silver_event WHERE channel <> ''
    UNION
    SELECT run_id, channel, node FROM heard
    UNION
    SELECT run_id, channel, node FROM reading
  ) AS nodes
) AS m
LEFT JOIN reading AS r ON r.run_id = m.run_id AND r.channel = m.channel AND r.node = m.node;
