-- The figures of a report, in Spark's dialect: every figure is one statement here. `figures_sqlite.sql` and
-- `figures_duckdb.sql` follow from this file by `python -m tests.audit.transpile`; a test compares them.
--
-- An engine brings these tables.
--   rule   grain, quiet                          width of a stretch of time; a silence longer than `quiet` is told
--   event  run_id, channel, node, boot, moment, ts_ms, event, message_id, sender, peer, cause, bytes, payload_bytes,
--          ids, attempt
--          moment: number of the event in the journal of its node; boot: number of the run of the program; ids: how many
--          messages it names besides
--   had    run_id, channel, node, message_id, received_ms              copies of messages, with or without a log
--   seen   run_id, channel, node, first_ms, last_ms                    nodes of a channel
--   packet run_id, channel, source, kind, packet, bytes, content_bytes, filter_bytes, history_bytes, request_bytes
--          packet: the id of a message in the logs, or the number of a recorded packet; it may be there several times
--   trial  run_id, channel, node, filters, checks, hits, expected      filters, asked for ids they cannot have
--   lacked run_id, channel, node, position, until, reason              what the verdict says is missing, in stretches
--   extent run_id, channel, messages                                   and how long the canonical logs are

-- When did each thing first happen to a message at a node?
CREATE TABLE earliest AS
SELECT run_id, channel, node, what, message_id, sender, cause, ts_ms, moment, payload_bytes
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY run_id, channel, node, what, message_id ORDER BY moment) AS rank
  FROM (
    SELECT *, CASE WHEN event = 'sent' THEN CONCAT('sent ', COALESCE(cause, '')) ELSE event END AS what
    FROM event
    WHERE message_id IS NOT NULL
  ) AS named
) AS numbered
WHERE rank = 1;

-- Which messages came from their sender to which node, and how long did that take by the two clocks?
CREATE TABLE passage AS
SELECT d.run_id, d.channel, d.message_id, d.sender, d.node, COALESCE(d.cause, '') AS via, s.ts_ms AS sent_ms,
  d.ts_ms AS delivered_ms, d.ts_ms - s.ts_ms AS raw, d.moment
FROM earliest AS d
JOIN earliest AS s ON s.run_id = d.run_id AND s.channel = d.channel AND s.node = d.sender
  AND s.message_id = d.message_id AND s.what = 'sent message'
WHERE d.what = 'delivered' AND d.sender <> d.node;

-- How many messages went each way between two nodes, and how long did the fastest take? Only what came as it was sent
-- tells of the network: what was loaded later (repair, anti-entropy, a Store, history) tells when it was asked for.
CREATE TABLE way AS
SELECT run_id, channel, sender, node, COUNT(*) AS messages, MIN(CASE WHEN via = 'live' THEN raw ELSE NULL END) AS fastest
FROM passage
GROUP BY run_id, channel, sender, node;

-- How far is the clock of `peer` ahead of the clock of `node`, and how sure is that? Half the difference of the fastest
-- messages each way, and half their sum. `shown`: they do differ, as no uncertainty reaches back to 0. Then one of these
-- messages came before it was sent, by the clocks as they stood.
CREATE TABLE clock AS
SELECT run_id, channel, node, peer, offset_ms, uncertainty_ms, ABS(offset_ms) > uncertainty_ms AS shown
FROM (
  SELECT o.run_id, o.channel, o.sender AS node, o.node AS peer, CAST(o.fastest - b.fastest AS DOUBLE) / 2 AS offset_ms,
    CAST(o.fastest + b.fastest AS DOUBLE) / 2 AS uncertainty_ms
  FROM way AS o
  JOIN way AS b ON b.run_id = o.run_id AND b.channel = o.channel AND b.sender = o.node AND b.node = o.sender
  WHERE NOT o.fastest IS NULL AND NOT b.fastest IS NULL
) AS estimate;

-- How long did each delivery take? Corrected by the offset of the two clocks where they are shown to differ.
CREATE TABLE delivery AS
SELECT p.*, p.raw - c.offset_ms AS corrected, p.raw - COALESCE(c.offset_ms, 0) AS took
FROM passage AS p
LEFT JOIN clock AS c ON c.run_id = p.run_id AND c.channel = p.channel AND c.node = p.sender AND c.peer = p.node
  AND c.shown;

-- When was a node not running, when did it write nothing for long, and when did it end while others went on?
CREATE TABLE away AS
SELECT run_id, node, 'not running' AS kind, ended AS from_ms, next_ms AS to_ms
FROM (
  SELECT run_id, node, MAX(ts_ms) AS ended, LEAD(MIN(ts_ms)) OVER (
    PARTITION BY run_id, node ORDER BY MIN(moment)
  ) AS next_ms
  FROM event
  GROUP BY run_id, node, boot
) AS boots
WHERE next_ms > ended
UNION ALL
SELECT run_id, node, 'silent', previous_ms, ts_ms
FROM (
  SELECT run_id, node, ts_ms, LAG(ts_ms) OVER (PARTITION BY run_id, node, boot ORDER BY moment) AS previous_ms
  FROM event
) AS steps
CROSS JOIN rule AS r
WHERE ts_ms - previous_ms > r.quiet
UNION ALL
SELECT n.run_id, n.node, 'ended before others', n.ended, a.ended
FROM (SELECT run_id, node, MAX(ts_ms) AS ended FROM event GROUP BY run_id, node) AS n
JOIN (SELECT run_id, MAX(ts_ms) AS ended FROM event GROUP BY run_id) AS a ON a.run_id = n.run_id
CROSS JOIN rule AS r
WHERE a.ended - n.ended > r.quiet;

-- Which deliveries waited while the receiver was not running, or was silent, and of what was said before its first start?
CREATE VIEW slept AS
SELECT d.run_id, d.channel, d.node, d.message_id, MAX(a.early) AS early
FROM delivery AS d
JOIN (
  SELECT run_id, node, from_ms, to_ms, 0 AS early
  FROM away
  WHERE kind <> 'ended before others'
  UNION ALL
  SELECT run_id, node, MIN(ts_ms), MIN(ts_ms), 1
  FROM event
  GROUP BY run_id, node
) AS a ON a.run_id = d.run_id AND a.node = d.node
WHERE a.to_ms > d.delivered_ms - d.took AND a.from_ms < d.delivered_ms
GROUP BY d.run_id, d.channel, d.node, d.message_id;

-- Why did each delivery take as long as it took? The first reason that holds.
CREATE VIEW explained AS
SELECT d.*, CASE
    WHEN s.early = 1 THEN 'it had not started yet'
    WHEN s.early = 0 THEN 'it was not running, or was silent'
    WHEN d.via = 'repair' THEN 'it was lost on the way, and repaired'
    WHEN d.via = 'sync' THEN 'it was lost on the way, and pushed by anti-entropy'
    WHEN d.via = 'store' THEN 'it came from a Store'
    WHEN w.node IS NOT NULL THEN 'it waited there for what it depends on'
    ELSE 'it was on its way'
  END AS why
FROM delivery AS d
LEFT JOIN slept AS s ON s.run_id = d.run_id AND s.channel = d.channel AND s.node = d.node
  AND s.message_id = d.message_id
LEFT JOIN earliest AS w ON w.run_id = d.run_id AND w.channel = d.channel AND w.node = d.node
  AND w.message_id = d.message_id AND w.what = 'missing' AND w.moment < d.moment;

-- Who had each message last, how long did that take, and why? `receivers`: nodes whose journals have the delivery.
CREATE TABLE reached AS
SELECT run_id, channel, message_id, sender, sent_ms, receivers, node AS last_node, took AS took_ms, via, why
FROM (
  SELECT *, COUNT(*) OVER (PARTITION BY run_id, channel, message_id) AS receivers, ROW_NUMBER() OVER (
    PARTITION BY run_id, channel, message_id ORDER BY took DESC, node
  ) AS rank
  FROM explained
) AS ordered
WHERE rank = 1;

-- How many nodes does each channel have?
CREATE VIEW crowd AS
SELECT run_id, channel, COUNT(*) AS nodes
FROM seen
GROUP BY run_id, channel;

-- Which messages did everybody get?
CREATE VIEW everybody AS
SELECT r.*
FROM reached AS r
JOIN crowd AS c ON c.run_id = r.run_id AND c.channel = r.channel
WHERE r.receivers + 1 >= c.nodes;

-- Who was last how often, why, and how long did it take at most?
CREATE VIEW last_one AS
SELECT run_id, channel, last_node, why, COUNT(*) AS messages, MAX(took_ms) AS longest
FROM everybody
GROUP BY run_id, channel, last_node, why;

-- How long did it take at a node from one event of a message to a later one?
CREATE VIEW lapse AS
SELECT CASE WHEN e.what = 'acked' THEN 'acked' ELSE 'possibly acked' END AS figure, b.run_id, b.channel, b.node,
  e.ts_ms - b.ts_ms AS value
FROM earliest AS b
JOIN earliest AS e ON e.run_id = b.run_id AND e.channel = b.channel AND e.node = b.node
  AND e.what IN ('possibly_acked', 'acked') AND e.message_id = b.message_id AND e.moment > b.moment
WHERE b.what = 'sent message' AND b.channel <> ''
UNION ALL
SELECT CASE WHEN b.what = 'missing' THEN 'buffered' ELSE 'healed' END, b.run_id, b.channel, b.node, e.ts_ms - b.ts_ms
FROM earliest AS b
JOIN earliest AS e ON e.run_id = b.run_id AND e.channel = b.channel AND e.node = b.node AND e.what = 'delivered'
  AND e.message_id = b.message_id AND e.moment > b.moment
WHERE b.what IN ('missing', 'repair_wanted') AND b.channel <> '';

-- Which times are there of which only the spread is of interest? By hour of sending: `raw` is the difference of two
-- clocks, `corrected` is there where their offset is known.
CREATE VIEW span AS
SELECT 'pace' AS figure, d.run_id, d.channel, d.node, '' AS via, d.sent_ms - d.sent_ms % r.grain AS at_ms,
  d.took AS value
FROM delivery AS d
CROSS JOIN rule AS r
UNION ALL
SELECT 'delivered', run_id, channel, '', '', 0, took
FROM delivery
UNION ALL
SELECT 'raw', run_id, channel, '', via, sent_ms - sent_ms % 3600000, raw
FROM delivery
UNION ALL
SELECT 'corrected', run_id, channel, '', via, sent_ms - sent_ms % 3600000, corrected
FROM delivery
WHERE corrected IS NOT NULL
UNION ALL
SELECT 'reached', run_id, channel, '', '', 0, took_ms
FROM reached
UNION ALL
SELECT 'everybody', run_id, channel, '', '', 0, took_ms
FROM everybody
UNION ALL
SELECT figure, run_id, channel, node, '', 0, value
FROM lapse;

-- What is the spread of these times? Percentiles lie between two values in proportion.
CREATE TABLE spread AS
SELECT figure, run_id, channel, node, via, at_ms, COUNT(*) AS n, ROUND(PERCENTILE(value, 0.5), 6) AS p50,
  ROUND(PERCENTILE(value, 0.95), 6) AS p95, ROUND(PERCENTILE(value, 0.99), 6) AS p99, MAX(value) AS longest
FROM (SELECT figure, run_id, channel, node, via, at_ms, CAST(value AS DOUBLE) AS value FROM span) AS times
GROUP BY figure, run_id, channel, node, via, at_ms;

-- In what time was which share of the deliveries there, by how they came? A step is a fortieth of them.
CREATE VIEW curve AS
SELECT p.run_id, p.channel, p.via, p.n, p.step, CAST(d.took AS DOUBLE) AS took
FROM (
  SELECT g.run_id, g.channel, g.via, g.n, s.step,
    CASE WHEN s.step = 0 THEN 1 ELSE CAST((g.n * s.step + 39 - (g.n * s.step + 39) % 40) / 40 AS BIGINT) END AS rank
  FROM (SELECT run_id, channel, via, COUNT(*) AS n FROM delivery GROUP BY run_id, channel, via) AS g
  CROSS JOIN (
    SELECT 5 * f.five + o.one AS step
    FROM (
      SELECT 0 AS five UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5
      UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8
    ) AS f
    CROSS JOIN (
      SELECT 0 AS one UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
    ) AS o
    WHERE 5 * f.five + o.one <= 40
  ) AS s
) AS p
JOIN (
  SELECT run_id, channel, via, took, ROW_NUMBER() OVER (PARTITION BY run_id, channel, via ORDER BY took) AS rank
  FROM delivery
) AS d ON d.run_id = p.run_id AND d.channel = p.channel AND d.via = p.via AND d.rank = p.rank;

-- What was sent and delivered, twice or by repair, in which stretch of time? Deliveries by node, the rest of all nodes.
CREATE VIEW course AS
SELECT run_id, channel, node, what, at_ms, COUNT(*) AS n, SUM(bytes) AS bytes
FROM (
  SELECT e.run_id, e.channel, CASE WHEN e.event = 'delivered' THEN e.node ELSE '' END AS node,
    e.ts_ms - e.ts_ms % r.grain AS at_ms, CASE
      WHEN e.event = 'sent' THEN CONCAT('sent ', COALESCE(e.cause, ''))
      WHEN e.event = 'delivered' THEN CONCAT('delivered ', COALESCE(e.cause, ''))
      ELSE e.event
    END AS what, COALESCE(e.bytes, 0) AS bytes
  FROM event AS e
  CROSS JOIN rule AS r
  WHERE e.event IN ('sent', 'delivered', 'duplicate', 'repair_wanted', 'repair_requested', 'rejected')
    AND e.channel <> ''
) AS dated
GROUP BY run_id, channel, node, what, at_ms;

-- How many bytes of text were said? Each message counts once, at its first sending.
CREATE VIEW said AS
SELECT run_id, channel, SUM(COALESCE(payload_bytes, 0)) AS text_bytes
FROM earliest
WHERE what = 'sent message'
GROUP BY run_id, channel;

-- What did each byte of text cost on the wire, by why it was sent?
CREATE VIEW wire AS
SELECT e.run_id, e.channel, COALESCE(e.cause, '') AS cause, COUNT(*) AS packets, SUM(COALESCE(e.bytes, 0)) AS bytes,
  s.text_bytes,
  CASE WHEN s.text_bytes > 0 THEN CAST(SUM(COALESCE(e.bytes, 0)) AS DOUBLE) / s.text_bytes ELSE NULL END AS per_byte
FROM event AS e
LEFT JOIN said AS s ON s.run_id = e.run_id AND s.channel = e.channel
WHERE e.event = 'sent' AND e.channel <> ''
GROUP BY e.run_id, e.channel, COALESCE(e.cause, ''), s.text_bytes;

-- When did a node first have a message, by its log, or as a whole or as an id by its journal?
CREATE TABLE possession AS
SELECT run_id, channel, node, message_id, MIN(at_ms) AS at_ms
FROM (
  SELECT run_id, channel, node, message_id, received_ms AS at_ms
  FROM had
  UNION ALL
  SELECT run_id, channel, node, message_id, ts_ms
  FROM earliest
  WHERE what IN ('delivered', 'kept_as_id')
) AS known
GROUP BY run_id, channel, node, message_id;

-- Did each acknowledgement tell the truth? It is wrong if the peer did not have the message by then, beyond what the
-- clocks leave open. Only of peers that are here, and whose evidence does not end before that. A filter that holds a
-- message which others had acknowledged is a possible acknowledgement of its own sender.
CREATE TABLE acknowledgement AS
SELECT run_id, channel, node, peer, message_id, state, how, said_ms, had_ms, CASE
    WHEN had_ms IS NULL THEN 'wrong'
    WHEN offset_ms IS NULL AND had_ms > said_ms THEN 'undecided'
    WHEN offset_ms IS NULL THEN 'true'
    WHEN had_ms - said_ms - offset_ms > uncertainty_ms THEN 'wrong'
    WHEN had_ms - said_ms - offset_ms > -uncertainty_ms THEN 'undecided'
    ELSE 'true'
  END AS verdict
FROM (
  SELECT e.run_id, e.channel, e.node, e.peer, e.message_id, COALESCE(e.cause, '') AS how, e.ts_ms AS said_ms,
    h.at_ms AS had_ms, c.offset_ms, c.uncertainty_ms,
    CASE WHEN e.cause = 'filter' AND e.moment > f.moment THEN 'possibly_acked' ELSE e.event END AS state
  FROM event AS e
  LEFT JOIN earliest AS f ON f.run_id = e.run_id AND f.channel = e.channel AND f.node = e.node AND f.what = 'acked'
    AND f.message_id = e.message_id
  JOIN seen AS p ON p.run_id = e.run_id AND p.channel = e.channel AND p.node = e.peer
  LEFT JOIN possession AS h ON h.run_id = e.run_id AND h.channel = e.channel AND h.node = e.peer
    AND h.message_id = e.message_id
  LEFT JOIN clock AS c ON c.run_id = e.run_id AND c.channel = e.channel AND c.node = e.node AND c.peer = e.peer
  WHERE e.event IN ('acked', 'possibly_acked') AND e.message_id IS NOT NULL
    AND (h.at_ms IS NOT NULL OR e.ts_ms + COALESCE(c.offset_ms, 0) <= p.last_ms)
) AS dated;

-- How many acknowledgements of each kind were true, wrong, or too close for the clocks to tell?
CREATE VIEW acknowledged AS
SELECT run_id, channel, state, how, COUNT(*) AS n, SUM(CASE WHEN verdict = 'wrong' THEN 1 ELSE 0 END) AS wrong,
  SUM(CASE WHEN verdict = 'undecided' THEN 1 ELSE 0 END) AS undecided
FROM acknowledgement
GROUP BY run_id, channel, state, how;

-- Who said without a signature to have how many messages? Anybody may have said that in their names: it is no
-- acknowledgement. Also of peers that are not here.
CREATE VIEW unproven AS
SELECT run_id, channel, node, peer, COUNT(DISTINCT message_id) AS messages
FROM event
WHERE event = 'unproven' AND message_id IS NOT NULL
GROUP BY run_id, channel, node, peer;

-- How far is the clock of `peer` ahead, and how many messages are there? Nothing is known if they came one way only, or
-- only later.
CREATE VIEW metrics_clock AS
SELECT p.run_id, p.channel, p.node, p.peer, COALESCE(o.messages, 0) AS `out`, COALESCE(b.messages, 0) AS back,
  o.fastest AS fastest_out, b.fastest AS fastest_back, c.offset_ms, c.uncertainty_ms,
  COALESCE(c.shown, FALSE) AS shown
FROM (
  SELECT run_id, channel, sender AS node, node AS peer FROM way
  UNION
  SELECT run_id, channel, node, sender FROM way
) AS p
LEFT JOIN way AS o ON o.run_id = p.run_id AND o.channel = p.channel AND o.sender = p.node AND o.node = p.peer
LEFT JOIN way AS b ON b.run_id = p.run_id AND b.channel = p.channel AND b.sender = p.peer AND b.node = p.node
LEFT JOIN clock AS c ON c.run_id = p.run_id AND c.channel = p.channel AND c.node = p.node AND c.peer = p.peer;

-- How long did deliveries of each hour take, and by how many of them were clocks wrong?
CREATE VIEW metrics_delivery AS
SELECT d.run_id, d.channel, d.via, d.hour_ms, d.delivered, d.negative, r.p50 AS raw_p50, r.p95 AS raw_p95,
  r.p99 AS raw_p99, d.corrected, d.corrected_negative, c.p50, c.p95, c.p99, c.longest
FROM (
  SELECT run_id, channel, via, sent_ms - sent_ms % 3600000 AS hour_ms, COUNT(*) AS delivered,
    SUM(CASE WHEN raw < 0 THEN 1 ELSE 0 END) AS negative, COUNT(corrected) AS corrected,
    SUM(CASE WHEN corrected < 0 THEN 1 ELSE 0 END) AS corrected_negative
  FROM delivery
  GROUP BY run_id, channel, via, sent_ms - sent_ms % 3600000
) AS d
JOIN spread AS r ON r.figure = 'raw' AND r.run_id = d.run_id AND r.channel = d.channel AND r.via = d.via
  AND r.at_ms = d.hour_ms
LEFT JOIN spread AS c ON c.figure = 'corrected' AND c.run_id = d.run_id AND c.channel = d.channel AND c.via = d.via
  AND c.at_ms = d.hour_ms;

-- How long after it was first sent was a message known to be elsewhere, and from what?
CREATE VIEW metrics_ack AS
SELECT e.run_id, e.channel, e.node, e.sent, e.resends, COALESCE(p.n, 0) AS possibly_acked, p.p50 AS possibly_p50,
  p.p95 AS possibly_p95, p.p99 AS possibly_p99, COALESCE(a.n, 0) AS acked, a.p50 AS acked_p50, a.p95 AS acked_p95,
  a.p99 AS acked_p99, e.by_mention, e.by_filter, e.by_range
FROM (
  SELECT run_id, channel, node,
    COUNT(DISTINCT CASE WHEN event = 'sent' AND cause = 'message' THEN message_id ELSE NULL END) AS sent,
    SUM(CASE WHEN event = 'sent' AND cause = 'resend' THEN 1 ELSE 0 END) AS resends,
    SUM(CASE WHEN event <> 'sent' AND cause = 'mention' THEN 1 ELSE 0 END) AS by_mention,
    SUM(CASE WHEN event <> 'sent' AND cause = 'filter' THEN 1 ELSE 0 END) AS by_filter,
    SUM(CASE WHEN event <> 'sent' AND cause = 'range' THEN 1 ELSE 0 END) AS by_range
  FROM event
  WHERE channel <> '' AND (event IN ('possibly_acked', 'acked') OR event = 'sent' AND cause IN ('message', 'resend'))
  GROUP BY run_id, channel, node
) AS e
LEFT JOIN spread AS p ON p.figure = 'possibly acked' AND p.run_id = e.run_id AND p.channel = e.channel
  AND p.node = e.node
LEFT JOIN spread AS a ON a.figure = 'acked' AND a.run_id = e.run_id AND a.channel = e.channel AND a.node = e.node;

-- What did each node lack, ask for, answer and get, and how long until it had it?
CREATE VIEW metrics_repair AS
SELECT e.run_id, e.channel, e.node, e.wanted, e.requested, e.answered, e.useful, e.pushed, e.synced, e.duplicates,
  e.stored, e.store_asked, e.store_unknown, e.store_silent, COALESCE(h.n, 0) AS healed, h.p50 AS heal_p50,
  h.p95 AS heal_p95, h.p99 AS heal_p99, COALESCE(b.n, 0) AS buffered, b.p50 AS buffer_p50, b.p95 AS buffer_p95,
  b.p99 AS buffer_p99
FROM (
  SELECT run_id, channel, node,
    COUNT(DISTINCT CASE WHEN event = 'repair_wanted' THEN message_id ELSE NULL END) AS wanted,
    SUM(CASE WHEN event = 'repair_requested' THEN ids ELSE 0 END) AS requested,
    SUM(CASE WHEN event = 'repair_responded' THEN 1 ELSE 0 END) AS answered,
    SUM(CASE WHEN event = 'delivered' AND cause = 'repair' THEN 1 ELSE 0 END) AS useful,
    SUM(CASE WHEN event = 'pushed' THEN 1 ELSE 0 END) AS pushed,
    SUM(CASE WHEN event = 'delivered' AND cause = 'sync' THEN 1 ELSE 0 END) AS synced,
    SUM(CASE WHEN event = 'duplicate' THEN COALESCE(attempt, 1) ELSE 0 END) AS duplicates,
    SUM(CASE WHEN event = 'delivered' AND cause = 'store' THEN 1 ELSE 0 END) AS stored,
    SUM(CASE WHEN event = 'store_asked' THEN ids ELSE 0 END) AS store_asked,
    SUM(CASE WHEN event = 'store_unknown' THEN ids ELSE 0 END) AS store_unknown,
    SUM(CASE WHEN event = 'store_silent' THEN ids ELSE 0 END) AS store_silent
  FROM event
  WHERE channel <> ''
  GROUP BY run_id, channel, node
) AS e
LEFT JOIN spread AS h ON h.figure = 'healed' AND h.run_id = e.run_id AND h.channel = e.channel AND h.node = e.node
LEFT JOIN spread AS b ON b.figure = 'buffered' AND b.run_id = e.run_id AND b.channel = e.channel AND b.node = e.node;

-- What did each node send, and why?
CREATE VIEW metrics_traffic AS
SELECT run_id, channel, node, COALESCE(cause, '') AS cause, COUNT(*) AS packets, SUM(COALESCE(bytes, 0)) AS bytes,
  SUM(COALESCE(payload_bytes, 0)) AS payload_bytes
FROM event
WHERE event = 'sent'
GROUP BY run_id, channel, node, COALESCE(cause, '');

-- What did each node refuse, and why?
CREATE VIEW metrics_rejected AS
SELECT run_id, channel, node, COALESCE(cause, '') AS reason, SUM(COALESCE(attempt, 1)) AS packets
FROM event
WHERE event = 'rejected'
GROUP BY run_id, channel, node, COALESCE(cause, '');

-- What are packets made of? Each counts once: of several copies the largest.
CREATE VIEW metrics_parts AS
SELECT run_id, channel, source, kind, COUNT(*) AS packets, SUM(bytes) AS bytes, SUM(content_bytes) AS content_bytes,
  SUM(filter_bytes) AS filter_bytes, SUM(history_bytes) AS history_bytes, SUM(request_bytes) AS request_bytes
FROM (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY run_id, channel, source, kind, packet
    ORDER BY bytes DESC, content_bytes DESC, filter_bytes DESC, history_bytes DESC, request_bytes DESC
  ) AS rank
  FROM packet
) AS sized
WHERE rank = 1
GROUP BY run_id, channel, source, kind;

-- Did filters hold what their senders had, and did others draw the right acknowledgements from them?
CREATE VIEW metrics_filter AS
SELECT run_id, channel, node, SUM(filters) AS filters, SUM(checks) AS checks, SUM(hits) AS hits,
  ROUND(SUM(expected), 6) AS expected, SUM(claims) AS claims, SUM(wrong) AS wrong, SUM(undecided) AS undecided
FROM (
  SELECT run_id, channel, node, filters, checks, hits, expected, 0 AS claims, 0 AS wrong, 0 AS undecided
  FROM trial
  UNION ALL
  SELECT run_id, channel, peer, 0, 0, 0, 0.0, 1, CASE WHEN verdict = 'wrong' THEN 1 ELSE 0 END,
    CASE WHEN verdict = 'undecided' THEN 1 ELSE 0 END
  FROM acknowledgement
  WHERE how = 'filter'
) AS told
GROUP BY run_id, channel, node;

-- Between which places are the stretches of a canonical log? There are 60 of them, or as many as it has messages.
CREATE VIEW stretch AS
SELECT run_id, channel, number, (low - low % parts) / parts + 1 AS low, (high - high % parts) / parts AS high
FROM (
  SELECT e.run_id, e.channel, e.parts, n.number, n.number * e.messages + e.parts - 1 AS low,
    (n.number + 1) * e.messages + e.parts - 1 AS high
  FROM (SELECT *, CASE WHEN messages BETWEEN 1 AND 59 THEN messages ELSE 60 END AS parts FROM extent) AS e
  JOIN (
    SELECT 10 * t.ten + o.one AS number
    FROM (
      SELECT 0 AS ten UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5
    ) AS t
    CROSS JOIN (
      SELECT 0 AS one UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5
      UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9
    ) AS o
  ) AS n ON n.number < e.parts
) AS scaled;

-- In which of them does a node lack how much?
CREATE VIEW cell AS
SELECT run_id, channel, node, stretch, SUM(CASE WHEN reason = 'lost' THEN lacking ELSE 0 END) AS lost,
  SUM(CASE WHEN reason = 'lost' THEN 0 ELSE lacking END) AS excused
FROM (
  SELECT l.run_id, l.channel, l.node, l.reason, s.number AS stretch,
    CAST(LEAST(l.until, s.high) - GREATEST(l.position, s.low) + 1 AS BIGINT) AS lacking
  FROM lacked AS l
  JOIN stretch AS s ON s.run_id = l.run_id AND s.channel = l.channel AND s.low <= l.until AND s.high >= l.position
) AS cut
GROUP BY run_id, channel, node, stretch;
