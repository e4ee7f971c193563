-- From silver and the copies to the tables that the views of an audit need, in Spark's dialect: see silver.sql for the
-- rest.

-- From when to when was each node seen in each channel?
CREATE VIEW seen AS
SELECT member, MIN(first_ms) AS first_ms, MAX(last_ms) AS last_ms
FROM (
  SELECT m.member, MIN(e.ts_ms) AS first_ms, MAX(e.ts_ms) AS last_ms
  FROM silver_event AS e
  JOIN member_of AS m ON m.run_id = e.run_id AND m.channel = e.channel AND m.node = e.node
  WHERE e.channel <> ''
  GROUP BY m.member
  UNION ALL
  SELECT member, first_ms, last_ms
  FROM holding
) AS sightings
GROUP BY member;

-- And from when on are they owed messages?
CREATE TABLE silver_presence AS
SELECT m.run_id, m.channel, m.node, r.nick, m.origin,
  CASE WHEN r.node IS NULL THEN COALESCE(s.first_ms, 0) - u.max_skew ELSE r.horizon END AS horizon,
  CASE WHEN r.node IS NULL AND b.first_seq > 1 THEN b.begin_ms ELSE 0 END AS retained_from,
  COALESCE(s.first_ms, 0) AS first_ms, COALESCE(s.last_ms, 0) AS last_ms
FROM member_of AS m
CROSS JOIN rule AS u
LEFT JOIN reading AS r ON r.run_id = m.run_id AND r.channel = m.channel AND r.node = m.node
LEFT JOIN seen AS s ON s.member = m.member
LEFT JOIN beginning AS b ON b.run_id = m.run_id AND b.node = m.node;

-- The same with the numbers.
CREATE TABLE presence AS
SELECT m.member, m.chan, p.*
FROM silver_presence AS p
JOIN member_of AS m ON m.run_id = p.run_id AND m.channel = p.channel AND m.node = p.node;

-- What does each version depend on, of all that any node has?
CREATE TABLE need AS
SELECT d.version, m.message AS dependency
FROM (SELECT version, chan, EXPLODE(SPLIT(deps, CHR(31))) AS message_id FROM version WHERE deps <> '') AS d
JOIN message AS m ON m.chan = d.chan AND m.message_id = d.message_id;

-- In which order did a node show messages and give them up?
CREATE TABLE told AS
SELECT p.member, p.chan, o.event, o.message_id, o.deps, o.moment
FROM (
  SELECT run_id, channel, node, event, message_id, deps,
    DENSE_RANK() OVER (PARTITION BY run_id, node ORDER BY began, boot) * 1099511627776 + seq AS moment
  FROM silver_event
  WHERE event IN ('delivered', 'lost', 'gap_closed')
) AS o
JOIN presence AS p ON p.run_id = o.run_id AND p.channel = o.channel AND p.node = o.node;

-- When did a node first show a message?
CREATE TABLE shown AS
SELECT t.member, m.message, MIN(t.moment) AS moment
FROM told AS t
JOIN message AS m ON m.chan = t.chan AND m.message_id = t.message_id
WHERE t.event = 'delivered'
GROUP BY t.member, m.message;

-- From when on does nothing wait for a message? A gap that was closed was declared when it began.
CREATE VIEW excused AS
SELECT g.member, m.message, MIN(g.moment) AS moment
FROM (
  SELECT member, chan, EXPLODE(deps) AS message_id, moment FROM told WHERE event = 'lost'
  UNION ALL
  SELECT member, chan, message_id, -1 AS moment FROM told WHERE event = 'gap_closed'
) AS g
JOIN message AS m ON m.chan = g.chan AND m.message_id = g.message_id
GROUP BY g.member, m.message;

-- What does a node say about itself, in the reading that counts?
CREATE TABLE declared AS
SELECT p.member, m.message, d.message_id, d.kind
FROM (SELECT DISTINCT run_id, channel, node, message_id, kind, at_ms, as_of, read_ms FROM bronze_declared) AS d
JOIN reading AS r ON r.run_id = d.run_id AND r.channel = d.channel AND r.node = d.node AND r.as_of = d.as_of
  AND r.read_ms = d.read_ms
JOIN presence AS p ON p.run_id = d.run_id AND p.channel = d.channel AND p.node = d.node
LEFT JOIN message AS m ON m.chan = p.chan AND m.message_id = d.message_id;

-- How many messages does a log say that it has, and how many has it?
CREATE VIEW claim AS
SELECT p.member, r.claimed, r.claimed_fingerprint, r.counted, r.counted_fingerprint
FROM reading AS r
JOIN presence AS p ON p.run_id = r.run_id AND p.channel = r.channel AND p.node = r.node;

-- Which run of a node does each of its databases not know, though another one does? A run writes to one database.
CREATE TABLE strange AS
SELECT DISTINCT r.run_id, r.node, d.digest, d.source, r.digest AS other
FROM bronze_run AS r
JOIN (SELECT DISTINCT run_id, node, digest, source FROM bronze_run) AS d ON d.run_id = r.run_id AND d.node = r.node
LEFT ANTI JOIN bronze_run AS k ON k.run_id = d.run_id AND k.node = d.node AND k.digest = d.digest AND k.boot = r.boot;

-- So which pairs of databases of one node went different ways?
CREATE VIEW apart AS
SELECT p.member,
  CONCAT('its databases ', a.source, ' and ', b.source, ' went apart: each has runs that the other lacks. They are ',
    'copies of one profile, or devices with one key; compare each alone with those of others') AS detail
FROM strange AS a
JOIN strange AS b ON b.run_id = a.run_id AND b.node = a.node AND b.digest = a.other AND b.other = a.digest
JOIN presence AS p ON p.run_id = a.run_id AND p.node = a.node AND p.origin = 'log'
WHERE a.source < b.source OR (a.source = b.source AND a.digest < b.digest);
