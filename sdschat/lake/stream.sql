-- What a terminal shows of a stream, in Spark's dialect: `stream_duckdb.sql` follows from this file by
-- `python -m tests.audit.transpile`. It is made from `packet` and `journal`, the tables of bronze.

-- What was recorded of each channel?
CREATE VIEW recorded AS
SELECT run_id, channel, COUNT(*) AS packets, CAST(SUM(bytes) AS BIGINT) AS bytes
FROM packet
GROUP BY run_id, channel;

-- How many messages has each node? One counts once, however often its delivery is told.
CREATE VIEW delivered AS
SELECT run_id, channel, node, COUNT(*) AS messages, BIT_XOR(XXHASH64(message_id, lamport)) AS said
FROM (SELECT DISTINCT run_id, channel, node, message_id, lamport FROM journal WHERE event = 'delivered') AS once
GROUP BY run_id, channel, node;

-- Do all nodes of a channel have the same messages?
CREATE VIEW logs AS
SELECT run_id, channel, COUNT(*) AS nodes, MIN(messages) AS fewest, MAX(messages) AS most,
  COUNT(DISTINCT said) = 1 AS alike
FROM delivered
GROUP BY run_id, channel;

-- What has each channel come to? Its name is with its campaign, where that is not the usual one.
CREATE VIEW channel_now AS
SELECT CASE WHEN run_id = 'field' THEN channel ELSE CONCAT(channel, ' of ', run_id) END AS channel,
  COALESCE(packets, 0) AS packets, COALESCE(bytes, 0) AS bytes, COALESCE(nodes, 0) AS nodes,
  COALESCE(fewest, 0) AS fewest, COALESCE(most, 0) AS most, COALESCE(alike, FALSE) AS alike
FROM recorded
FULL JOIN logs USING (run_id, channel);
