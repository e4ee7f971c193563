-- From silver and bronze to the versions of messages and to the copies that nodes have, in Spark's dialect: see
-- silver.sql for the rest.

-- Which nodes share their number with another one? None, unless somebody looked for such ids.
CREATE TABLE namesake AS
SELECT run_id, channel, node
FROM member_of
WHERE member < 0;

-- What do nodes say that they have, or had, without numbers that could be used: by a journal, or under the number of
-- another node? The ids of dependencies are one text.
CREATE VIEW plain AS
SELECT m.run_id, m.channel, m.node, m.message_id, m.lamport, m.sender, ARRAY_JOIN(m.deps, CHR(31)) AS deps, m.digest,
  m.own, m.received_ms, 'log' AS origin, m.damage, m.gone, m.again, m.as_of, m.read_ms
FROM bronze_message AS m
JOIN namesake AS n ON n.run_id = m.run_id AND n.channel = m.channel AND n.node = m.node
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

-- What do nodes say that they have, or had, with the numbers that an ingest gave? Nearly all is here.
CREATE VIEW numbered AS
SELECT p.member, m.message_key AS message, m.version_key AS version, m.lamport, m.received_ms,
  CASE WHEN m.own THEN 1 ELSE 0 END AS own, m.damage, m.gone, m.again, m.as_of, m.read_ms,
  XXHASH64(p.member, m.message_key) AS mark
FROM bronze_message AS m
JOIN member_of AS p ON p.member = m.member_key AND p.origin = 'log'
LEFT ANTI JOIN ambiguous AS a ON a.message = m.message_key;

-- And what else do they say? Mostly nothing; else the numbers are computed here, once.
CREATE TABLE other AS
SELECT n.member, COALESCE(v.message, n.message) AS message, COALESCE(v.version, n.version) AS version, n.lamport,
  n.received_ms, CASE WHEN n.own THEN 1 ELSE 0 END AS own, n.damage, n.gone, n.again, n.as_of, n.read_ms,
  XXHASH64(n.member, COALESCE(v.message, n.message)) AS mark
FROM (
  SELECT p.member, p.chan, c.message_id, c.lamport, c.sender, c.deps, c.digest, c.received_ms, c.own, c.damage, c.gone,
    c.again, c.as_of, c.read_ms, c.message, c.version
  FROM counted AS c
  JOIN member_of AS p ON p.run_id = c.run_id AND p.channel = c.channel AND p.node = c.node AND p.origin = c.origin
  UNION ALL
  SELECT p.member, p.chan, m.message_id, m.lamport, m.sender, ARRAY_JOIN(m.deps, CHR(31)), m.digest, m.received_ms,
    m.own, m.damage, m.gone, m.again, m.as_of, m.read_ms, m.message_key, m.version_key
  FROM bronze_message AS m
  JOIN ambiguous AS a ON a.message = m.message_key
  JOIN member_of AS p ON p.member = m.member_key AND p.origin = 'log'
) AS n
LEFT JOIN ambiguous AS a ON a.message = n.message
LEFT JOIN version AS v ON a.message IS NOT NULL AND v.chan = n.chan AND v.message_id = n.message_id
  AND v.lamport = n.lamport AND v.sender = n.sender AND v.deps = n.deps AND v.digest = n.digest;

-- What do they say in all?
CREATE VIEW stated AS
SELECT * FROM numbered
UNION ALL
SELECT * FROM other;

-- Which messages may be in several readings? It was noted when they came. Others may have the same mark.
CREATE TABLE reread AS
SELECT DISTINCT mark
FROM stated
WHERE again;

-- Where does a reading say something else than the first one? These are few, so that these alone are ordered.
CREATE TABLE changed AS
SELECT s.mark
FROM stated AS s
LEFT SEMI JOIN reread AS t ON t.mark = s.mark
GROUP BY s.mark, s.member, s.message, s.version, s.lamport, s.received_ms, s.own, s.damage, s.gone
HAVING SUM(CASE WHEN s.again THEN 0 ELSE 1 END) <> 1;

-- What does the latest reading say of these?
CREATE TABLE latest AS
SELECT member, message, version, lamport, received_ms, own, damage
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY member, message ORDER BY as_of DESC, read_ms DESC) AS rank
  FROM stated AS s
  LEFT SEMI JOIN changed AS t ON t.mark = s.mark
) AS readings
WHERE rank = 1 AND NOT gone;

-- Which version of which message does each node have? Of equal readings the first one counts.
CREATE TABLE copy AS
SELECT s.member, s.message, s.version, s.lamport, s.received_ms, s.own, s.damage
FROM stated AS s
LEFT ANTI JOIN changed AS t ON t.mark = s.mark
WHERE NOT s.again AND NOT s.gone
UNION ALL
SELECT member, message, version, lamport, received_ms, own, damage
FROM latest;
