-- Written from figures.sql by `python -m tests.audit.transpile`: change that file, not this one.

CREATE TABLE event AS SELECT run_id, channel, node, boot, ROW_NUMBER() OVER (PARTITION BY run_id, node ORDER BY began NULLS FIRST, boot NULLS FIRST, seq NULLS FIRST) AS moment, ts_ms, event, message_id, sender, peer, cause, bytes, payload_bytes, CASE WHEN deps IS NULL THEN 0 ELSE ARRAY_LENGTH(deps) END AS ids, attempt FROM silver_event;

CREATE TABLE reread AS SELECT DISTINCT HASH(run_id, channel, node, message_id) AS mark FROM bronze_message WHERE again;

CREATE TABLE relogged AS SELECT run_id, channel, node, message_id, own, damage, received_ms, raw, bytes, content_bytes, filter_bytes, history_bytes, request_bytes FROM (SELECT m.*, ROW_NUMBER() OVER (PARTITION BY t.mark, m.run_id, m.channel, m.node, m.message_id ORDER BY m.as_of DESC, m.read_ms DESC) AS rank FROM bronze_message AS m JOIN reread AS t ON t.mark = HASH(m.run_id, m.channel, m.node, m.message_id)) AS messages WHERE rank = 1 AND NOT gone;

CREATE VIEW kept AS SELECT m.run_id, m.channel, m.node, m.message_id, m.own, m.damage, m.received_ms, m.raw, m.bytes, m.content_bytes, m.filter_bytes, m.history_bytes, m.request_bytes FROM bronze_message AS m ANTI JOIN reread AS t ON t.mark = HASH(m.run_id, m.channel, m.node, m.message_id) WHERE NOT m.gone UNION ALL SELECT run_id, channel, node, message_id, own, damage, received_ms, raw, bytes, content_bytes, filter_bytes, history_bytes, request_bytes FROM relogged;

CREATE VIEW had AS SELECT c.run_id, c.channel, c.node, c.message_id, c.received_ms FROM (SELECT run_id, channel, node, message_id, received_ms, 'log' AS origin FROM kept UNION ALL SELECT run_id, channel, node, message_id, received_ms, 'journal' FROM heard) AS c JOIN member_of AS p ON p.run_id = c.run_id AND p.channel = c.channel AND p.node = c.node AND p.origin = c.origin;

CREATE VIEW seen AS SELECT run_id, channel, node, first_ms, last_ms FROM silver_presence;

CREATE VIEW packet AS SELECT run_id, channel, 'log' AS source, 'message' AS kind, message_id AS packet, COALESCE(bytes, 0) AS bytes, COALESCE(content_bytes, 0) AS content_bytes, COALESCE(filter_bytes, 0) AS filter_bytes, COALESCE(history_bytes, 0) AS history_bytes, COALESCE(request_bytes, 0) AS request_bytes FROM kept WHERE NOT bytes IS NULL UNION ALL SELECT run_id, channel, 'tap', kind, tap || ' ' || TRY_CAST(seq AS TEXT), COALESCE(bytes, 0), COALESCE(content_bytes, 0), COALESCE(filter_bytes, 0), COALESCE(history_bytes, 0), COALESCE(request_bytes, 0) FROM bronze_packet;

CREATE VIEW arrival AS SELECT run_id, channel, node, message_id, ROW_NUMBER() OVER (PARTITION BY run_id, channel, node ORDER BY received_ms NULLS FIRST, message_id NULLS FIRST) AS rank, COUNT(*) OVER (PARTITION BY run_id, channel, node ORDER BY received_ms NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS until FROM had;

CREATE VIEW later AS SELECT u.run_id, u.channel, u.node, u.message_id, ARRAY_AGG(a.message_id) FILTER(WHERE a.message_id IS NOT NULL) AS ids FROM (SELECT k.run_id, k.channel, k.node, k.message_id, b.until + 10 * t.ten + o.one + 1 AS rank FROM kept AS k JOIN arrival AS b ON b.run_id = k.run_id AND b.channel = k.channel AND b.node = k.node AND b.message_id = k.message_id CROSS JOIN (SELECT 0 AS ten UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS t CROSS JOIN (SELECT 0 AS one UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) AS o WHERE k.own AND k.damage IS NULL AND NOT k.raw IS NULL) AS u JOIN arrival AS a ON a.run_id = u.run_id AND a.channel = u.channel AND a.node = u.node AND a.rank = u.rank GROUP BY u.run_id, u.channel, u.node, u.message_id;

CREATE VIEW asked_filter AS SELECT k.run_id, k.channel, k.node, k.raw, l.ids FROM kept AS k JOIN later AS l ON l.run_id = k.run_id AND l.channel = k.channel AND l.node = k.node AND l.message_id = k.message_id;

CREATE VIEW lacked AS SELECT run_id, channel, node, position, until, reason FROM audit_missing;

CREATE VIEW extent AS SELECT run_id, channel, messages FROM gold_channel;
