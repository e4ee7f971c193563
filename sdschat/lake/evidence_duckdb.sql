-- Written from evidence.sql by `python -m tests.audit.transpile`: change that file, not this one.

CREATE VIEW plain AS SELECT run_id, channel, node, message_id, lamport, sender, ARRAY_TO_STRING(deps, CHR(31)) AS deps, digest, own, received_ms, 'log' AS origin, damage, gone, COALESCE(again, TRUE) AS again, as_of, read_ms FROM bronze_message WHERE version_key IS NULL UNION ALL SELECT run_id, channel, node, message_id, lamport, sender, ARRAY_TO_STRING(deps, CHR(31)), '', own, received_ms, 'journal', TRY_CAST(NULL AS TEXT), FALSE, FALSE, 0, 0 FROM heard;

CREATE VIEW counted AS SELECT *, TRY_CAST(CONV(SUBSTRING(MD5(CONCAT_WS(CHR(31), run_id, channel, message_id)), 1, 15), 16, 10) AS BIGINT) AS message, TRY_CAST(CONV(SUBSTRING(MD5(CONCAT_WS(CHR(31), run_id, channel, message_id, TRY_CAST(lamport AS TEXT), sender, deps, digest)), 1, 15), 16, 10) AS BIGINT) AS version FROM plain;

CREATE TABLE variant AS SELECT c.chan, v.message_id, v.lamport, v.sender, v.deps, v.digest, v.message, v.version FROM (SELECT run_id, channel, message_id, lamport, sender, ARRAY_TO_STRING(deps, CHR(31)) AS deps, digest, message_key AS message, version_key AS version FROM bronze_version UNION SELECT run_id, channel, message_id, lamport, sender, deps, digest, message, version FROM counted) AS v JOIN (SELECT DISTINCT run_id, channel, chan FROM member_of) AS c ON c.run_id = v.run_id AND c.channel = v.channel;

CREATE TABLE ambiguous AS SELECT message FROM variant GROUP BY message HAVING MIN(chan) <> MAX(chan) OR MIN(message_id) <> MAX(message_id) UNION SELECT v.message FROM variant AS v JOIN (SELECT version FROM variant GROUP BY version HAVING COUNT(*) > 1) AS d ON d.version = v.version;

CREATE TABLE version AS SELECT version, message, chan, message_id, lamport, sender, deps, digest, TRY_CAST(CONV(SUBSTRING(hash, 1, 16), 16, -10) AS BIGINT) AS x1, TRY_CAST(CONV(SUBSTRING(hash, 17, 16), 16, -10) AS BIGINT) AS x2 FROM (SELECT *, SHA256(TRY_CAST(lamport AS TEXT) || ':' || message_id) AS hash FROM (SELECT v.version, v.message, v.chan, v.message_id, v.lamport, v.sender, v.deps, v.digest FROM variant AS v ANTI JOIN ambiguous AS a ON a.message = v.message UNION ALL SELECT -(v.chan * 1099511627776 + ROW_NUMBER() OVER (PARTITION BY v.chan ORDER BY v.message_id NULLS FIRST, v.lamport NULLS FIRST, v.sender NULLS FIRST, v.deps NULLS FIRST, v.digest NULLS FIRST)), -(v.chan * 1099511627776 + DENSE_RANK() OVER (PARTITION BY v.chan ORDER BY v.message_id NULLS FIRST)), v.chan, v.message_id, v.lamport, v.sender, v.deps, v.digest FROM variant AS v JOIN ambiguous AS a ON a.message = v.message) AS numbers) AS versions;

CREATE TABLE message AS SELECT DISTINCT chan, message_id, message FROM version;

CREATE VIEW numbered AS SELECT p.member, p.chan, s.message_id, s.lamport, s.sender, ARRAY_TO_STRING(s.deps, CHR(31)) AS deps, s.digest, s.received_ms, CASE WHEN s.own THEN 1 ELSE 0 END AS own, s.damage, s.gone, COALESCE(s.again, TRUE) AS again, s.as_of, s.read_ms, s.message_key AS message, s.version_key AS version FROM bronze_message AS s JOIN member_of AS p ON p.run_id = s.run_id AND p.channel = s.channel AND p.node = s.node WHERE NOT s.version_key IS NULL AND p.origin = 'log' UNION ALL SELECT p.member, p.chan, s.message_id, s.lamport, s.sender, s.deps, s.digest, s.received_ms, CASE WHEN s.own THEN 1 ELSE 0 END, s.damage, s.gone, s.again, s.as_of, s.read_ms, s.message, s.version FROM counted AS s JOIN member_of AS p ON p.run_id = s.run_id AND p.channel = s.channel AND p.node = s.node AND p.origin = s.origin;

CREATE TABLE reread AS SELECT DISTINCT HASH(member, message) AS mark FROM numbered WHERE again;

CREATE TABLE listed AS SELECT n.member, n.message, n.version, n.lamport, n.received_ms, n.own, n.damage, n.gone, n.as_of, n.read_ms, NOT t.mark IS NULL AS twice FROM (SELECT n.member, n.message, n.version, n.lamport, n.received_ms, n.own, n.damage, n.gone, n.as_of, n.read_ms, HASH(n.member, n.message) AS mark FROM numbered AS n ANTI JOIN ambiguous AS a ON a.message = n.message UNION ALL SELECT n.member, v.message, v.version, n.lamport, n.received_ms, n.own, n.damage, n.gone, n.as_of, n.read_ms, HASH(n.member, n.message) FROM numbered AS n JOIN ambiguous AS a ON a.message = n.message JOIN version AS v ON v.chan = n.chan AND v.message_id = n.message_id AND v.lamport = n.lamport AND v.sender = n.sender AND v.deps = n.deps AND v.digest = n.digest) AS n LEFT JOIN reread AS t ON t.mark = n.mark;

CREATE TABLE latest AS SELECT member, message, version, lamport, received_ms, own, damage FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY member, message ORDER BY as_of DESC, read_ms DESC) AS rank FROM listed WHERE twice) AS readings WHERE rank = 1 AND NOT gone;

CREATE VIEW copy AS SELECT member, message, version, lamport, received_ms, own, damage FROM listed WHERE NOT twice AND NOT gone UNION ALL SELECT member, message, version, lamport, received_ms, own, damage FROM latest;

CREATE VIEW seen AS SELECT member, MIN(first_ms) AS first_ms, MAX(last_ms) AS last_ms FROM (SELECT m.member, MIN(e.ts_ms) AS first_ms, MAX(e.ts_ms) AS last_ms FROM silver_event AS e JOIN member_of AS m ON m.run_id = e.run_id AND m.channel = e.channel AND m.node = e.node WHERE e.channel <> '' GROUP BY m.member UNION ALL SELECT member, MIN(received_ms) AS first_ms, MAX(received_ms) AS last_ms FROM copy GROUP BY member) AS sightings GROUP BY member;

CREATE TABLE silver_presence AS SELECT m.run_id, m.channel, m.node, r.nick, m.origin, CASE WHEN r.node IS NULL THEN COALESCE(s.first_ms, 0) - u.max_skew ELSE r.horizon END AS horizon, CASE WHEN r.node IS NULL AND b.first_seq > 1 THEN b.begin_ms ELSE 0 END AS retained_from, COALESCE(s.first_ms, 0) AS first_ms, COALESCE(s.last_ms, 0) AS last_ms FROM member_of AS m CROSS JOIN rule AS u LEFT JOIN reading AS r ON r.run_id = m.run_id AND r.channel = m.channel AND r.node = m.node LEFT JOIN seen AS s ON s.member = m.member LEFT JOIN beginning AS b ON b.run_id = m.run_id AND b.node = m.node;

CREATE TABLE presence AS SELECT m.member, m.chan, p.* FROM silver_presence AS p JOIN member_of AS m ON m.run_id = p.run_id AND m.channel = p.channel AND m.node = p.node;

CREATE TABLE need AS SELECT d.version, m.message AS dependency FROM (SELECT version, chan, UNNEST(STR_SPLIT_REGEX(deps, CHR(31))) AS message_id FROM version WHERE deps <> '') AS d JOIN message AS m ON m.chan = d.chan AND m.message_id = d.message_id;

CREATE TABLE told AS SELECT p.member, p.chan, o.event, o.message_id, o.deps, o.moment FROM (SELECT run_id, channel, node, event, message_id, deps, ROW_NUMBER() OVER (PARTITION BY run_id, node ORDER BY began NULLS FIRST, boot NULLS FIRST, seq NULLS FIRST) AS moment FROM silver_event WHERE event IN ('delivered', 'lost', 'gap_closed')) AS o JOIN presence AS p ON p.run_id = o.run_id AND p.channel = o.channel AND p.node = o.node;

CREATE TABLE shown AS SELECT t.member, m.message, MIN(t.moment) AS moment FROM told AS t JOIN message AS m ON m.chan = t.chan AND m.message_id = t.message_id WHERE t.event = 'delivered' GROUP BY t.member, m.message;

CREATE VIEW excused AS SELECT g.member, m.message, MIN(g.moment) AS moment FROM (SELECT member, chan, UNNEST(deps) AS message_id, moment FROM told WHERE event = 'lost' UNION ALL SELECT member, chan, message_id, -1 AS moment FROM told WHERE event = 'gap_closed') AS g JOIN message AS m ON m.chan = g.chan AND m.message_id = g.message_id GROUP BY g.member, m.message;

CREATE TABLE declared AS SELECT p.member, m.message, d.message_id, d.kind FROM (SELECT DISTINCT run_id, channel, node, message_id, kind, at_ms, as_of, read_ms FROM bronze_declared) AS d JOIN reading AS r ON r.run_id = d.run_id AND r.channel = d.channel AND r.node = d.node AND r.as_of = d.as_of AND r.read_ms = d.read_ms JOIN presence AS p ON p.run_id = d.run_id AND p.channel = d.channel AND p.node = d.node LEFT JOIN message AS m ON m.chan = p.chan AND m.message_id = d.message_id;

CREATE VIEW claim AS SELECT p.member, r.claimed, r.claimed_fingerprint, r.counted, r.counted_fingerprint FROM reading AS r JOIN presence AS p ON p.run_id = r.run_id AND p.channel = r.channel AND p.node = r.node;

CREATE TABLE strange AS SELECT DISTINCT r.run_id, r.node, d.digest, d.source, r.digest AS other FROM bronze_run AS r JOIN (SELECT DISTINCT run_id, node, digest, source FROM bronze_run) AS d ON d.run_id = r.run_id AND d.node = r.node ANTI JOIN bronze_run AS k ON k.run_id = d.run_id AND k.node = d.node AND k.digest = d.digest AND k.boot = r.boot;

CREATE VIEW apart AS SELECT p.member, 'its databases ' || a.source || ' and ' || b.source || ' went apart: each has what the other lacks' AS detail FROM strange AS a JOIN strange AS b ON b.run_id = a.run_id AND b.node = a.node AND b.digest = a.other AND b.other = a.digest JOIN presence AS p ON p.run_id = a.run_id AND p.node = a.node AND p.origin = 'log' WHERE a.source < b.source OR (a.source = b.source AND a.digest < b.digest);
