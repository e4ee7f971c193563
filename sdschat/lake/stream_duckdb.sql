-- Written from stream.sql by `python -m tests.audit.transpile`: change that file, not this one.

CREATE VIEW recorded AS SELECT run_id, channel, COUNT(*) AS packets, TRY_CAST(SUM(bytes) AS BIGINT) AS bytes FROM packet GROUP BY run_id, channel;

CREATE VIEW delivered AS SELECT run_id, channel, node, COUNT(*) AS messages, BIT_XOR(HASH(message_id, lamport)) AS said FROM (SELECT DISTINCT run_id, channel, node, message_id, lamport FROM journal WHERE event = 'delivered') AS once GROUP BY run_id, channel, node;

CREATE VIEW logs AS SELECT run_id, channel, COUNT(*) AS nodes, MIN(messages) AS fewest, MAX(messages) AS most, COUNT(DISTINCT said) = 1 AS alike FROM delivered GROUP BY run_id, channel;

CREATE VIEW channel_now AS SELECT CASE WHEN run_id = 'field' THEN channel ELSE channel || ' of ' || run_id END AS channel, COALESCE(packets, 0) AS packets, COALESCE(bytes, 0) AS bytes, COALESCE(nodes, 0) AS nodes, COALESCE(fewest, 0) AS fewest, COALESCE(most, 0) AS most, COALESCE(alike, FALSE) AS alike FROM recorded FULL JOIN logs USING (run_id, channel);
