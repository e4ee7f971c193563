-- Written from figures.sql by `python -m tests.audit.transpile`: change that file, not this one.

CREATE TABLE earliest AS SELECT run_id, channel, node, what, message_id, sender, cause, ts_ms, moment, payload_bytes FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY run_id, channel, node, what, message_id ORDER BY moment) AS rank FROM (SELECT *, CASE WHEN event = 'sent' THEN 'sent ' || COALESCE(cause, '') ELSE event END AS what FROM event WHERE NOT message_id IS NULL) AS named) AS numbered WHERE rank = 1;

CREATE TABLE passage AS SELECT d.run_id, d.channel, d.message_id, d.sender, d.node, COALESCE(d.cause, '') AS via, s.ts_ms AS sent_ms, d.ts_ms AS delivered_ms, d.ts_ms - s.ts_ms AS raw, d.moment FROM earliest AS d JOIN earliest AS s ON s.run_id = d.run_id AND s.channel = d.channel AND s.node = d.sender AND s.message_id = d.message_id AND s.what = 'sent message' WHERE d.what = 'delivered' AND d.sender <> d.node;

CREATE TABLE way AS SELECT run_id, channel, sender, node, COUNT(*) AS messages, MIN(raw) AS fastest FROM passage GROUP BY run_id, channel, sender, node;

CREATE TABLE clock AS SELECT o.run_id, o.channel, o.sender AS node, o.node AS peer, CAST((o.fastest - b.fastest) AS REAL) / 2.0 AS offset_ms, CAST((o.fastest + b.fastest) AS REAL) / 2.0 AS uncertainty_ms FROM way AS o JOIN way AS b ON b.run_id = o.run_id AND b.channel = o.channel AND b.sender = o.node AND b.node = o.sender;

CREATE TABLE delivery AS SELECT p.*, p.raw - COALESCE(c.offset_ms, 0) AS took FROM passage AS p LEFT JOIN clock AS c ON c.run_id = p.run_id AND c.channel = p.channel AND c.node = p.sender AND c.peer = p.node;

CREATE TABLE away AS SELECT run_id, node, 'not running' AS kind, ended AS from_ms, next_ms AS to_ms FROM (SELECT run_id, node, MAX(ts_ms) AS ended, LEAD(MIN(ts_ms)) OVER (PARTITION BY run_id, node ORDER BY MIN(moment)) AS next_ms FROM event GROUP BY run_id, node, boot) AS boots WHERE next_ms > ended UNION ALL SELECT run_id, node, 'silent', previous_ms, ts_ms FROM (SELECT run_id, node, ts_ms, LAG(ts_ms) OVER (PARTITION BY run_id, node, boot ORDER BY moment) AS previous_ms FROM event) AS steps CROSS JOIN rule AS r WHERE ts_ms - previous_ms > r.quiet UNION ALL SELECT n.run_id, n.node, 'ended before others', n.ended, a.ended FROM (SELECT run_id, node, MAX(ts_ms) AS ended FROM event GROUP BY run_id, node) AS n JOIN (SELECT run_id, MAX(ts_ms) AS ended FROM event GROUP BY run_id) AS a ON a.run_id = n.run_id CROSS JOIN rule AS r WHERE a.ended - n.ended > r.quiet;

CREATE VIEW slept AS SELECT DISTINCT d.run_id, d.channel, d.node, d.message_id FROM delivery AS d JOIN away AS a ON a.run_id = d.run_id AND a.node = d.node WHERE a.kind <> 'ended before others' AND a.to_ms > d.sent_ms AND a.from_ms < d.delivered_ms;

CREATE VIEW explained AS SELECT d.*, CASE WHEN NOT s.node IS NULL THEN 'it was not running, or was silent' WHEN d.via = 'repair' THEN 'it was lost on the way, and repaired' WHEN d.via = 'sync' THEN 'it was lost on the way, and pushed by anti-entropy' WHEN d.via = 'store' THEN 'it came from a Store' WHEN NOT w.node IS NULL THEN 'it waited there for what it depends on' ELSE 'it was on its way' END AS why FROM delivery AS d LEFT JOIN slept AS s ON s.run_id = d.run_id AND s.channel = d.channel AND s.node = d.node AND s.message_id = d.message_id LEFT JOIN earliest AS w ON w.run_id = d.run_id AND w.channel = d.channel AND w.node = d.node AND w.message_id = d.message_id AND w.what = 'missing' AND w.moment < d.moment;

CREATE TABLE reached AS SELECT run_id, channel, message_id, sender, sent_ms, receivers, node AS last_node, took AS took_ms, via, why FROM (SELECT *, COUNT(*) OVER (PARTITION BY run_id, channel, message_id) AS receivers, ROW_NUMBER() OVER (PARTITION BY run_id, channel, message_id ORDER BY took DESC, node) AS rank FROM explained) AS ordered WHERE rank = 1;

CREATE VIEW crowd AS SELECT run_id, channel, COUNT(*) AS nodes FROM seen GROUP BY run_id, channel;

CREATE VIEW everybody AS SELECT r.* FROM reached AS r JOIN crowd AS c ON c.run_id = r.run_id AND c.channel = r.channel WHERE r.receivers + 1 >= c.nodes;

CREATE VIEW last_one AS SELECT run_id, channel, last_node, why, COUNT(*) AS messages, MAX(took_ms) AS longest FROM everybody GROUP BY run_id, channel, last_node, why;

CREATE VIEW span AS SELECT 'pace' AS figure, d.run_id, d.channel, d.node, d.sent_ms - d.sent_ms % r.grain AS at_ms, d.took AS value FROM delivery AS d CROSS JOIN rule AS r UNION ALL SELECT 'everybody', run_id, channel, '', 0, took_ms FROM everybody;

CREATE TABLE spread AS SELECT figure, run_id, channel, node, at_ms, COUNT(*) AS n, ROUND(SUM(CASE WHEN ABS(rank - 0.5 * last) < 1 THEN value * (1 - ABS(rank - 0.5 * last)) ELSE 0 END), 6) AS p50, ROUND(SUM(CASE WHEN ABS(rank - 0.95 * last) < 1 THEN value * (1 - ABS(rank - 0.95 * last)) ELSE 0 END), 6) AS p95, MAX(value) AS longest FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY figure, run_id, channel, node, at_ms ORDER BY value) - 1 AS rank, COUNT(*) OVER (PARTITION BY figure, run_id, channel, node, at_ms) - 1 AS last FROM span) AS ranked GROUP BY figure, run_id, channel, node, at_ms;

CREATE VIEW course AS SELECT run_id, channel, node, what, at_ms, COUNT(*) AS n, SUM(bytes) AS bytes FROM (SELECT e.run_id, e.channel, e.node, e.ts_ms - e.ts_ms % r.grain AS at_ms, CASE WHEN e.event = 'sent' THEN 'sent ' || COALESCE(e.cause, '') WHEN e.event = 'delivered' THEN 'delivered ' || COALESCE(e.cause, '') ELSE e.event END AS what, COALESCE(e.bytes, 0) AS bytes FROM event AS e CROSS JOIN rule AS r WHERE e.event IN ('sent', 'delivered', 'duplicate', 'repair_wanted', 'repair_requested', 'rejected') AND e.channel <> '') AS dated GROUP BY run_id, channel, node, what, at_ms;

CREATE VIEW said AS SELECT run_id, channel, SUM(COALESCE(payload_bytes, 0)) AS text_bytes FROM earliest WHERE what = 'sent message' GROUP BY run_id, channel;

CREATE VIEW wire AS SELECT e.run_id, e.channel, COALESCE(e.cause, '') AS cause, COUNT(*) AS packets, SUM(COALESCE(e.bytes, 0)) AS bytes, s.text_bytes, CASE WHEN s.text_bytes > 0 THEN CAST(SUM(COALESCE(e.bytes, 0)) * 1.0 AS REAL) / s.text_bytes ELSE NULL END AS per_byte FROM event AS e LEFT JOIN said AS s ON s.run_id = e.run_id AND s.channel = e.channel WHERE e.event = 'sent' AND e.channel <> '' GROUP BY e.run_id, e.channel, COALESCE(e.cause, ''), s.text_bytes;

CREATE TABLE possession AS SELECT run_id, channel, node, message_id, MIN(at_ms) AS at_ms FROM (SELECT run_id, channel, node, message_id, received_ms AS at_ms FROM had UNION ALL SELECT run_id, channel, node, message_id, ts_ms FROM earliest WHERE what IN ('delivered', 'kept_as_id')) AS known GROUP BY run_id, channel, node, message_id;

CREATE TABLE acknowledgement AS SELECT run_id, channel, node, peer, message_id, event AS state, how, said_ms, had_ms, CASE WHEN had_ms IS NULL THEN 'wrong' WHEN offset_ms IS NULL AND had_ms > said_ms THEN 'undecided' WHEN offset_ms IS NULL THEN 'true' WHEN had_ms - said_ms - offset_ms > uncertainty_ms THEN 'wrong' WHEN had_ms - said_ms - offset_ms > -uncertainty_ms THEN 'undecided' ELSE 'true' END AS verdict FROM (SELECT e.run_id, e.channel, e.node, e.peer, e.message_id, e.event, COALESCE(e.cause, '') AS how, e.ts_ms AS said_ms, h.at_ms AS had_ms, c.offset_ms, c.uncertainty_ms FROM event AS e JOIN seen AS p ON p.run_id = e.run_id AND p.channel = e.channel AND p.node = e.peer LEFT JOIN possession AS h ON h.run_id = e.run_id AND h.channel = e.channel AND h.node = e.peer AND h.message_id = e.message_id LEFT JOIN clock AS c ON c.run_id = e.run_id AND c.channel = e.channel AND c.node = e.node AND c.peer = e.peer WHERE e.event IN ('acked', 'possibly_acked') AND NOT e.message_id IS NULL) AS dated;

CREATE VIEW acknowledged AS SELECT run_id, channel, state, how, COUNT(*) AS n, SUM(CASE WHEN verdict = 'wrong' THEN 1 ELSE 0 END) AS wrong, SUM(CASE WHEN verdict = 'undecided' THEN 1 ELSE 0 END) AS undecided FROM acknowledgement GROUP BY run_id, channel, state, how;
