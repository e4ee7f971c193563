-- Written from evidence.sql by `python -m tests.audit.transpile`: change that file, not this one.

CREATE TABLE namesake AS SELECT run_id, channel, node FROM member_of WHERE member < 0;

CREATE VIEW plain AS SELECT m.run_id, m.channel, m.node, m.message_id, m.lamport, m.sender, ARRAY_TO_STRING(m.deps, CHR(31)) AS deps, m.digest, m.own, m.received_ms, 'log' AS origin, m.damage, m.gone, m.again, m.as_of, m.read_ms FROM bronze_message AS m JOIN namesake AS n ON n.run_id = m.run_id AND n.channel = m.channel AND n.node = m.node UNION ALL SELECT run_id, channel, node, message_id, lamport, sender, ARRAY_TO_STRING(deps, CHR(31)), '', own, received_ms, 'journal', TRY_CAST(NULL AS TEXT), FALSE, FALSE, 0, 0 FROM heard;

CREATE VIEW counted AS SELECT *, TRY_CAST(CONV(SUBSTRING(MD5(CONCAT_WS(CHR(31), run_id, channel, message_id)), 1, 15), 16, 10) AS BIGINT) AS message, TRY_CAST(CONV(SUBSTRING(MD5(CONCAT_WS(CHR(31), run_id, channel, message_id, TRY_CAST(lamport AS TEXT), sender, deps, digest)), 1, 15), 16, 10) AS BIGINT) AS version FROM plain;

CREATE TABLE variant AS SELECT c.chan, v.message_id, v.lamport, v.sender, v.deps, v.digest, v.message, v.version FROM (SELECT run_id, channel, message_id, lamport, sender, ARRAY_TO_STRING(deps, CHR(31)) AS deps, digest, message_key AS message, version_key AS version FROM bronze_version UNION SELECT run_id, channel, message_id, lamport, sender, deps, digest, message, version FROM counted) AS v JOIN (SELECT DISTINCT run_id, channel, chan FROM member_of) AS c ON c.run_id = v.run_id AND c.channel = v.channel;

CREATE TABLE ambiguous AS SELECT message FROM variant GROUP BY message HAVING MIN(chan) <> MAX(chan) OR MIN(message_id) <> MAX(message_id) UNION SELECT v.message FROM variant AS v JOIN (SELECT version FROM variant GROUP BY version HAVING COUNT(*) > 1) AS d ON d.version = v.version;

CREATE TABLE version AS SELECT version, message, chan, message_id, lamport, sender, deps, digest, TRY_CAST(CONV(SUBSTRING(hash, 1, 16), 16, -10) AS BIGINT) AS x1, TRY_CAST(CONV(SUBSTRING(hash, 17, 16), 16, -10) AS BIGINT) AS x2 FROM (SELECT *, SHA256(TRY_CAST(lamport AS TEXT) || ':' || message_id) AS hash FROM (SELECT v.version, v.message, v.chan, v.message_id, v.lamport, v.sender, v.deps, v.digest FROM variant AS v ANTI JOIN ambiguous AS a ON a.message = v.message UNION ALL SELECT -(v.chan * 1099511627776 + ROW_NUMBER() OVER (PARTITION BY v.chan ORDER BY v.message_id NULLS FIRST, v.lamport NULLS FIRST, v.sender NULLS FIRST, v.deps NULLS FIRST, v.digest NULLS FIRST)), -(v.chan * 1099511627776 + DENSE_RANK() OVER (PARTITION BY v.chan ORDER BY v.message_id NULLS FIRST)), v.chan, v.message_id, v.lamport, v.sender, v.deps, v.digest FROM variant AS v JOIN ambiguous AS a ON a.message = v.message) AS numbers) AS versions;

CREATE TABLE message AS SELECT DISTINCT chan, message_id, message FROM version;

CREATE VIEW numbered AS SELECT p.member, m.message_key AS message, m.version_key AS version, m.lamport, m.received_ms, CASE WHEN m.own THEN 1 ELSE 0 END AS own, m.damage, m.gone, m.again, m.as_of, m.read_ms, HASH(p.member, m.message_key) AS mark FROM bronze_message AS m JOIN member_of AS p ON p.member = m.member_key AND p.origin = 'log' ANTI JOIN ambiguous AS a ON a.message = m.message_key;

CREATE TABLE other AS SELECT n.member, COALESCE(v.message, n.message) AS message, COALESCE(v.version, n.version) AS version, n.lamport, n.received_ms, CASE WHEN n.own THEN 1 ELSE 0 END AS own, n.damage, n.gone, n.again, n.as_of, n.read_ms, HASH(n.member, COALESCE(v.message, n.message)) AS mark FROM (SELECT p.member, p.chan, c.message_id, c.lamport, c.sender, c.deps, c.digest, c.received_ms, c.own, c.damage, c.gone, c.again, c.as_of, c.read_ms, c.message, c.version FROM counted AS c JOIN member_of AS p ON p.run_id = c.run_id AND p.channel = c.channel AND p.node = c.node AND p.origin = c.origin UNION ALL SELECT p.member, p.chan, m.message_id, m.lamport, m.sender, ARRAY_TO_STRING(m.deps, CHR(31)), m.digest, m.received_ms, m.own, m.damage, m.gone, m.again, m.as_of, m.read_ms, m.message_key, m.version_key FROM bronze_message AS m JOIN ambiguous AS a ON a.message = m.message_key JOIN member_of AS p ON p.member = m.member_key AND p.origin = 'log') AS n LEFT JOIN ambiguous AS a ON a.message = n.message LEFT JOIN version AS v ON NOT a.message IS NULL AND v.chan = n.chan AND v.message_id = n.message_id AND v.lamport = n.lamport AND v.sender = n.sender AND v.deps = n.deps AND v.digest = n.digest;

CREATE VIEW stated AS SELECT * FROM numbered UNION ALL SELECT * FROM other;

CREATE TABLE reread AS SELECT DISTINCT mark FROM stated WHERE again;

CREATE TABLE changed AS SELECT s.mark FROM stated AS s SEMI JOIN reread AS t ON t.mark = s.mark GROUP BY s.mark, s.member, s.message, s.version, s.lamport, s.received_ms, s.own, s.damage, s.gone HAVING SUM(CASE WHEN s.again THEN 0 ELSE 1 END) <> 1;

CREATE TABLE latest AS SELECT member, message, version, lamport, received_ms, own, damage FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY member, message ORDER BY as_of DESC, read_ms DESC) AS rank FROM stated AS s SEMI JOIN changed AS t ON t.mark = s.mark) AS readings WHERE rank = 1 AND NOT gone;

CREATE TABLE copy AS SELECT s.member, s.message, s.version, s.lamport, s.received_ms, s.own, s.damage FROM stated AS s ANTI JOIN changed AS t ON t.mark = s.mark WHERE NOT s.again AND NOT s.gone UNION ALL SELECT member, message, version, lamport, received_ms, own, damage FROM latest;
