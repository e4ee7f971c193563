-- The comparison of an ingest with a lake, in DuckDB's dialect: no other engine runs it. `compare.py` names what was read
-- (`read_…`, with the number of its file, and `came`, the events of one table among them) and what the lake has
-- (`known_…`, or `known` of that table). `row_sum` is what a row says, as a number; an event has `key`, a number for
-- (run of the campaign, node, boot, seq).

-- Which events are not in the lake? Of equal ones the first counts.
CREATE VIEW new_event AS
SELECT *
FROM came
ANTI JOIN known USING (row_sum)
WHERE came.rowid IN (SELECT MIN(rowid) FROM came GROUP BY row_sum);

-- Which of them share their number with another event that says something else?
CREATE VIEW contradiction AS
SELECT DISTINCT number, run_id, place
FROM came
SEMI JOIN (
  SELECT key
  FROM (SELECT key, row_sum FROM came UNION SELECT key, row_sum FROM known WHERE key IN (SELECT key FROM came)) AS every
  GROUP BY key
  HAVING COUNT(*) > 1
) AS twice USING (key)
ORDER BY ALL;

-- How far was each log read before? Messages come before their reading: of a writer at work, or one that was killed,
-- there are only these.
CREATE VIEW reached AS
SELECT run_id, channel, node, MAX(as_of) AS as_of
FROM (SELECT run_id, channel, node, as_of FROM known_node UNION ALL SELECT run_id, channel, node, as_of FROM logged) AS every
GROUP BY ALL;

-- Which readings are not older than a known one? Of each log one, where several databases of a node were read.
CREATE TABLE fresh AS
SELECT n.*
FROM read_node AS n
LEFT JOIN reached AS r USING (run_id, channel, node)
WHERE r.as_of IS NULL OR n.as_of >= r.as_of
QUALIFY ROW_NUMBER() OVER (
  PARTITION BY n.run_id, n.channel, n.node ORDER BY n.as_of DESC, n.read_ms DESC, n.number
) = 1;

-- Which of these say something else than all earlier ones of the same database?
CREATE TABLE new_node AS
SELECT *
FROM fresh
ANTI JOIN known_node
USING (run_id, channel, node, as_of, horizon, claimed, claimed_fingerprint, counted, counted_fingerprint);

-- What do nodes say to lack, in these readings? With the time of the reading.
CREATE VIEW new_declared AS
SELECT d.run_id, d.node, d.channel, d.message_id, d.kind, d.at_ms, n.as_of, n.read_ms
FROM read_declared AS d
JOIN new_node AS n USING (run_id, channel, node, number)
EXCEPT SELECT run_id, node, channel, message_id, kind, at_ms, as_of, read_ms FROM known_declared;

-- Which messages do the readings have? With their numbers, as `evidence.sql` and `copies.sql` compute them.
CREATE TABLE here AS
SELECT m.* REPLACE (
  number_of(CONCAT_WS(CHR(31), run_id, channel, node)) AS member_key,
  number_of(CONCAT_WS(CHR(31), run_id, channel, message_id)) AS message_key,
  number_of(CONCAT_WS(CHR(31), run_id, channel, message_id, CAST(lamport AS VARCHAR), sender,
    ARRAY_TO_STRING(deps, CHR(31)), digest)) AS version_key
)
FROM read_message AS m
SEMI JOIN fresh USING (run_id, channel, node, number);

-- Which versions of messages are new? What a version says is its number.
CREATE VIEW new_version AS
SELECT *
FROM (
  SELECT DISTINCT run_id, channel, message_id, lamport, sender, deps, digest, message_key, version_key,
    version_key AS row_sum, channel_key, 0 AS day
  FROM here
) AS every
ANTI JOIN known_version
USING (run_id, channel, message_id, lamport, sender, deps, digest, message_key, version_key);

-- What did the last reading say of each message?
CREATE TABLE before AS
SELECT run_id, channel, node, message_id, as_of, read_ms, gone, row_sum
FROM known_message
SEMI JOIN fresh USING (run_id, channel, node)
QUALIFY ROW_NUMBER() OVER (PARTITION BY run_id, channel, node, message_id ORDER BY as_of DESC, read_ms DESC) = 1;

CREATE VIEW there AS
SELECT *
FROM before
WHERE NOT gone;

-- Which messages are now in several rows?
CREATE VIEW several AS
SELECT run_id, channel, node, message_id
FROM before
UNION ALL
SELECT run_id, channel, node, message_id
FROM here
GROUP BY ALL
HAVING COUNT(*) > 1;

-- Which messages are new or changed, and which does a reading no longer have? These are marked as gone.
CREATE VIEW new_message AS
SELECT h.* REPLACE (
  EXISTS (
    SELECT 1
    FROM several AS s
    WHERE s.run_id = h.run_id AND s.channel = h.channel AND s.node = h.node AND s.message_id = h.message_id
  ) AS again
)
FROM here AS h
ANTI JOIN there USING (run_id, channel, node, message_id, row_sum)
UNION ALL BY NAME
SELECT k.* REPLACE (f.as_of AS as_of, f.read_ms AS read_ms, TRUE AS gone, TRUE AS again)
FROM known_message AS k
SEMI JOIN (SELECT * FROM there ANTI JOIN here USING (run_id, channel, node, message_id)) AS lacking
  USING (run_id, channel, node, message_id, as_of, read_ms)
JOIN fresh AS f USING (run_id, channel, node)
WHERE NOT k.gone;

-- Which parts of these files could not be read, of whose database, and how far is its log?
CREATE VIEW unread AS
SELECT e.run_id, e.source, e.place, e.reason, e.sample, e.read_ms, COALESCE(f.node, '') AS node, f.as_of
FROM (SELECT * FROM read_quarantine UNION ALL BY NAME SELECT * FROM contradicted) AS e
LEFT JOIN file AS f USING (source);

CREATE VIEW new_quarantine AS
SELECT DISTINCT ON (run_id, source, node, place, reason) *
FROM unread AS u
WHERE NOT EXISTS (
  SELECT 1
  FROM refused AS r
  WHERE r.run_id = u.run_id AND r.source = u.source AND r.place = u.place AND r.reason = u.reason
    AND COALESCE(r.node, '') = u.node
);
