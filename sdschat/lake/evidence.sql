-- From silver and the copies to the tables that the views of an audit need, in Spark's dialect: see silver.sql for the
-- rest.

-- What do nodes say that they have, or had, without numbers, by a log that an older program took in or by a journal? The
-- ids of dependencies are one text.
CREATE VIEW plain AS
SELECT run_id, channel, node, message_id, lamport, sender, ARRAY_JOIN(deps, CHR(31)) AS deps, digest, own, received_ms,
  'log' AS origin, damage, gone, COALESCE(again, TRUE) AS again, as_of, read_ms
FROM bronze_message
WHERE version_key IS NULL
UNION ALL
SELECT run_id, channel, node, message_id, lamport, sender, ARRAY_JOIN(deps, CHR(31)), '', own, received_ms, 'journal',
  CAST(NULL AS STRING), FALSE, FALSE, 0, 0
FROM heard;

-- And with numbers? A message and each version of it have numbers that follow from what they are, so that nothing has to
-- be looked up.
CREATE VIEW counted AS
SELECT *, CAST(CONV(SUBSTRING(MD5(CONCAT_WS(CHR(31), run_id, channel, message_id)), 1, 15), 16, 10) AS BIGINT) AS message,
  CAST(CONV(SUBSTRING(MD5(
    CONCAT_WS(CHR(31), run_id, channel, message_id, CAST(lamport AS STRING), sender, deps, digest)
  ), 1, 15), 16, 10) AS BIGINT) AS version
FROM plain;

-- Which versions of which messages are there?
CREATE TABLE variant AS
SELECT c.chan, v.message_id, v.lamport, v.sender, v.deps, v.digest, v.message, v.version
FROM (
  SELECT run_id, channel, message_id, lamport, sender, ARRAY_JOIN(deps, CHR(31)) AS deps, digest,
    message_key AS message, version_key AS version
  FROM bronze_version
  UNION
  SELECT run_id, channel, message_id, lamport, sender, deps, digest, message, version
  FROM counted
) AS v
JOIN (SELECT DISTINCT run_id, channel, chan FROM member_of) AS c ON c.run_id = v.run_id AND c.channel = v.channel;

-- Which of these numbers stand for two things? None, unless somebody looked for such ids. These are counted instead.
CREATE TABLE ambiguous AS
SELECT message
FROM variant
GROUP BY message
HAVING MIN(chan) <> MAX(chan) OR MIN(message_id) <> MAX(message_id)
UNION
SELECT v.message
FROM variant AS v
JOIN (SELECT version FROM variant GROUP BY version HAVING COUNT(*) > 1) AS d ON d.version = v.version;

-- Which versions does each message have?
CREATE TABLE version AS
SELECT version, message, chan, message_id, lamport, sender, deps, digest,
  CAST(CONV(SUBSTRING(hash, 1, 16), 16, -10) AS BIGINT) AS x1, CAST(CONV(SUBSTRING(hash, 17, 16), 16, -10) AS BIGINT) AS x2
FROM (
  SELECT *, SHA2(CONCAT(CAST(lamport AS STRING), ':', message_id), 256) AS hash
  FROM (
    SELECT v.version, v.message, v.chan, v.message_id, v.lamport, v.sender, v.deps, v.digest
    FROM variant AS v
    LEFT ANTI JOIN ambiguous AS a ON a.message = v.message
    UNION ALL
    SELECT -(v.chan * 1099511627776 + ROW_NUMBER() OVER (
        PARTITION BY v.chan ORDER BY v.message_id, v.lamport, v.sender, v.deps, v.digest
      )), -(v.chan * 1099511627776 + DENSE_RANK() OVER (PARTITION BY v.chan ORDER BY v.message_id)), v.chan,
      v.message_id, v.lamport, v.sender, v.deps, v.digest
    FROM variant AS v
    JOIN ambiguous AS a ON a.message = v.message
  ) AS numbers
) AS versions;

-- Which number does each message have?
CREATE TABLE message AS
SELECT DISTINCT chan, message_id, message
FROM version;

-- What do nodes say that they have, or had, with the numbers of node, message and version?
CREATE VIEW numbered AS
SELECT p.member, p.chan, s.message_id, s.lamport, s.sender, ARRAY_JOIN(s.deps, CHR(31)) AS deps, s.digest, s.received_ms,
  CASE WHEN s.own THEN 1 ELSE 0 END AS own, s.damage, s.gone, COALESCE(s.again, TRUE) AS again, s.as_of, s.read_ms,
  s.message_key AS message, s.version_key AS version
FROM bronze_message AS s
JOIN member_of AS p ON p.run_id = s.run_id AND p.channel = s.channel AND p.node = s.node
WHERE s.version_key IS NOT NULL AND p.origin = 'log'
UNION ALL
SELECT p.member, p.chan, s.message_id, s.lamport, s.sender, s.deps, s.digest, s.received_ms,
  CASE WHEN s.own THEN 1 ELSE 0 END, s.damage, s.gone, s.again, s.as_of, s.read_ms, s.message, s.version
FROM counted AS s
JOIN member_of AS p ON p.run_id = s.run_id AND p.channel = s.channel AND p.node = s.node AND p.origin = s.origin;

-- Which messages may be in several readings? It was noted when they came, but not by older programs. They are few, so
-- that these alone are ordered. Others may have the same mark.
CREATE TABLE reread AS
SELECT DISTINCT XXHASH64(member, message) AS mark
FROM numbered
WHERE again;

-- Which version of which message does each reading have?
CREATE TABLE listed AS
SELECT n.member, n.message, n.version, n.lamport, n.received_ms, n.own, n.damage, n.gone, n.as_of, n.read_ms,
  t.mark IS NOT NULL AS twice
FROM (
  SELECT n.member, n.message, n.version, n.lamport, n.received_ms, n.own, n.damage, n.gone, n.as_of, n.read_ms,
    XXHASH64(n.member, n.message) AS mark
  FROM numbered AS n
  LEFT ANTI JOIN ambiguous AS a ON a.message = n.message
  UNION ALL
  SELECT n.member, v.message, v.version, n.lamport, n.received_ms, n.own, n.damage, n.gone, n.as_of, n.read_ms,
    XXHASH64(n.member, n.message)
  FROM numbered AS n
  JOIN ambiguous AS a ON a.message = n.message
  JOIN version AS v ON v.chan = n.chan AND v.message_id = n.message_id AND v.lamport = n.lamport
    AND v.sender = n.sender AND v.deps = n.deps AND v.digest = n.digest
) AS n
LEFT JOIN reread AS t ON t.mark = n.mark;

-- What does the latest reading say, where there are several?
CREATE TABLE latest AS
SELECT member, message, version, lamport, received_ms, own, damage
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY member, message ORDER BY as_of DESC, read_ms DESC) AS rank
  FROM listed
  WHERE twice
) AS readings
WHERE rank = 1 AND NOT gone;

-- Which version of which message does each node have?
CREATE VIEW copy AS
SELECT member, message, version, lamport, received_ms, own, damage
FROM listed
WHERE NOT twice AND NOT gone
UNION ALL
SELECT member, message, version, lamport, received_ms, own, damage
FROM latest;

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
  SELECT member, MIN(received_ms) AS first_ms, MAX(received_ms) AS last_ms
  FROM copy
  GROUP BY member
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
    ROW_NUMBER() OVER (PARTITION BY run_id, node ORDER BY began, boot, seq) AS moment
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
  CONCAT('its databases ', a.source, ' and ', b.source, ' went apart: each has what the other lacks') AS detail
FROM strange AS a
JOIN strange AS b ON b.run_id = a.run_id AND b.node = a.node AND b.digest = a.other AND b.other = a.digest
JOIN presence AS p ON p.run_id = a.run_id AND p.node = a.node AND p.origin = 'log'
WHERE a.source < b.source OR (a.source = b.source AND a.digest < b.digest);
