-- Written from views.sql by `python -m tests.audit.transpile`: change that file, not this one.

CREATE TABLE tally AS SELECT message, COUNT(*) AS copies, MIN(version) AS low, MAX(version) AS high, MIN(received_ms) AS first_ms, MAX(received_ms) AS last_ms FROM copy GROUP BY message;

CREATE TABLE disputed AS SELECT message FROM tally WHERE low <> high;

CREATE VIEW contested AS SELECT c.message, c.version, CASE WHEN c.damage IS NULL THEN 0 ELSE 1 END AS damaged, COUNT(*) AS copies FROM disputed AS d JOIN copy AS c ON c.message = d.message GROUP BY c.message, c.version, CASE WHEN c.damage IS NULL THEN 0 ELSE 1 END;

CREATE VIEW preferred AS SELECT message, version FROM (SELECT c.message, c.version, ROW_NUMBER() OVER (PARTITION BY c.message ORDER BY c.damaged NULLS FIRST, CASE WHEN v.digest <> '' THEN 0 WHEN v.deps <> '' THEN 1 ELSE 2 END NULLS FIRST, c.copies DESC, v.lamport NULLS FIRST, v.sender NULLS FIRST, v.deps NULLS FIRST, v.digest NULLS FIRST) AS rank FROM contested AS c JOIN version AS v ON v.version = c.version) AS ranked WHERE rank = 1;

CREATE TABLE log AS SELECT v.chan, v.message, v.version, v.message_id, v.lamport, v.sender, v.deps, v.digest, v.x1, v.x2, t.copies, t.first_ms, t.last_ms, ROW_NUMBER() OVER (PARTITION BY v.chan ORDER BY v.lamport NULLS FIRST, v.message_id NULLS FIRST) AS position FROM tally AS t LEFT JOIN preferred AS p ON p.message = t.message JOIN version AS v ON v.version = COALESCE(p.version, t.low);

CREATE VIEW crowd AS SELECT chan, COUNT(*) AS nodes FROM presence GROUP BY chan;

CREATE TABLE lone AS SELECT chan, message, sender, lamport, first_ms FROM log WHERE copies = 1;

CREATE TABLE extra AS SELECT l.message, h.member FROM lone AS l JOIN copy AS h ON h.message = l.message JOIN presence AS s ON s.chan = l.chan AND s.node = l.sender CROSS JOIN rule AS r ANTI JOIN shown AS w ON w.member = s.member AND w.message = l.message WHERE h.member <> s.member AND NOT (s.last_ms < l.lamport AND s.last_ms < l.first_ms + r.settle + r.max_skew) AND l.lamport >= s.horizon AND l.lamport >= s.retained_from;

CREATE VIEW ends AS SELECT chan, MIN(lamport) AS first_lamport, MAX(lamport) AS last_lamport FROM log GROUP BY chan;

CREATE TABLE partial AS SELECT p.member, p.chan, GREATEST(p.horizon, p.retained_from) AS since, COALESCE(n.lamport, 0) AS until FROM presence AS p JOIN ends AS e ON e.chan = p.chan LEFT JOIN holding AS n ON n.member = p.member WHERE p.horizon > e.first_lamport OR p.retained_from > e.first_lamport OR COALESCE(n.lamport, 0) < e.last_lamport;

CREATE TABLE outside AS SELECT l.message, a.member, CASE WHEN c.member IS NULL THEN 0 ELSE 1 END AS there FROM partial AS a JOIN log AS l ON l.chan = a.chan AND (l.lamport < a.since OR l.lamport > a.until) LEFT JOIN copy AS c ON c.message = l.message AND c.member = a.member;

CREATE TABLE spared AS SELECT message, COUNT(*) AS nodes, SUM(there) AS copies FROM outside GROUP BY message;

CREATE TABLE short AS SELECT l.message, l.chan FROM log AS l JOIN crowd AS w ON w.chan = l.chan LEFT JOIN spared AS s ON s.message = l.message WHERE l.copies - COALESCE(s.copies, 0) < w.nodes - COALESCE(s.nodes, 0);

CREATE TABLE gap AS SELECT k.message, k.member FROM (SELECT s.message, p.member FROM short AS s JOIN presence AS p ON p.chan = s.chan ANTI JOIN (SELECT message, member FROM copy WHERE message IN (SELECT message FROM short)) AS c ON c.message = s.message AND c.member = p.member UNION SELECT message, member FROM outside WHERE there = 0) AS k ANTI JOIN extra AS e ON e.message = k.message;

CREATE VIEW absent AS SELECT g.message, g.member, l.position, l.lamport, l.message_id, l.sender, l.first_ms, p.node, p.origin, p.horizon, p.retained_from, p.last_ms FROM gap AS g JOIN log AS l ON l.message = g.message JOIN presence AS p ON p.member = g.member;

CREATE TABLE needs AS SELECT l.chan, l.message, l.message_id, l.position, l.lamport, l.sender, d.message AS dependency, d.message_id AS dependency_id, d.lamport AS dependency_lamport FROM log AS l JOIN need AS n ON n.version = l.version JOIN log AS d ON d.message = n.dependency;

CREATE TABLE built_on AS SELECT DISTINCT a.member, a.message FROM absent AS a CROSS JOIN rule AS r JOIN needs AS n ON n.dependency = a.message JOIN copy AS c ON c.member = a.member AND c.message = n.message WHERE a.last_ms < a.first_ms + r.settle + r.max_skew;

CREATE TABLE taken_along AS SELECT l.message FROM lone AS l JOIN copy AS c ON c.message = l.message JOIN presence AS p ON p.member = c.member CROSS JOIN rule AS r WHERE c.own = 1 AND p.last_ms < c.received_ms + r.settle;

CREATE TABLE unsure AS SELECT DISTINCT a.member FROM absent AS a CROSS JOIN rule AS r WHERE a.last_ms >= a.first_ms + r.settle AND a.last_ms < a.first_ms + r.settle + r.max_skew;

CREATE TABLE ahead AS SELECT c.member, LEAST(MAX(r.max_skew), GREATEST(COALESCE(MIN(CASE WHEN c.own = 0 THEN c.received_ms - t.first_ms END), 0), COALESCE(MAX(CASE WHEN c.own = 1 THEN c.received_ms - t.first_ms END), 0))) AS ahead_ms FROM unsure AS u JOIN copy AS c ON c.member = u.member JOIN tally AS t ON t.message = c.message CROSS JOIN rule AS r WHERE t.copies > 1 GROUP BY c.member;

CREATE VIEW said AS SELECT member, message, MAX(CASE WHEN kind IN ('lost', 'unproven') THEN 1 ELSE 0 END) AS lost, MAX(CASE WHEN kind = 'missing' THEN 1 ELSE 0 END) AS missing, MAX(CASE WHEN kind = 'held' THEN 1 ELSE 0 END) AS held, MAX(CASE WHEN kind = 'ahead' THEN 1 ELSE 0 END) AS ahead, MAX(CASE WHEN kind = 'no_member' THEN 1 ELSE 0 END) AS no_member FROM declared GROUP BY member, message;

CREATE VIEW circumstance AS SELECT a.*, CASE WHEN a.origin = 'log' AND NOT w.member IS NULL THEN 1 ELSE 0 END AS was_shown, CASE WHEN NOT d.member IS NULL THEN 1 ELSE 0 END AS apart, CASE WHEN b.member IS NULL AND (a.last_ms - COALESCE(h.ahead_ms, 0) < a.first_ms + r.settle OR (a.last_ms < a.lamport AND a.last_ms < a.first_ms + r.settle + r.max_skew)) THEN 1 ELSE 0 END AS ended, CASE WHEN NOT k.message IS NULL THEN 1 ELSE 0 END AS taken_along, CASE WHEN a.last_ms < a.lamport THEN 1 ELSE 0 END AS before_it, COALESCE(s.lost, 0) AS lost, COALESCE(s.missing, 0) AS missing, COALESCE(s.held, 0) AS held, COALESCE(s.ahead, 0) AS ahead, COALESCE(s.no_member, 0) AS no_member FROM absent AS a CROSS JOIN rule AS r LEFT JOIN (SELECT DISTINCT member FROM apart) AS d ON d.member = a.member LEFT JOIN ahead AS h ON h.member = a.member LEFT JOIN built_on AS b ON b.member = a.member AND b.message = a.message LEFT JOIN taken_along AS k ON k.message = a.message LEFT JOIN said AS s ON s.member = a.member AND s.message = a.message LEFT JOIN shown AS w ON w.member = a.member AND w.message = a.message;

CREATE VIEW explained AS SELECT member, position, lamport, message_id, sender, node, CASE WHEN apart = 1 THEN 'another database of the node may have it' WHEN was_shown = 1 THEN 'it was delivered, and is not in the log any more' WHEN no_member = 1 THEN 'the node, or the author, was no member then' WHEN lamport < horizon THEN 'dated before the node joined' WHEN lamport < retained_from THEN 'older than what its journal still has' WHEN ahead = 1 THEN 'it is dated ahead of the clock of the node, and waits there' WHEN sender = node AND NOT (ended = 1 AND before_it = 1) THEN 'it is its own message, and not in its log' WHEN lost = 1 THEN 'the node gave it up' WHEN ended = 1 THEN 'the node was not seen for long enough after it' WHEN taken_along = 1 THEN 'its author was not seen for long enough after it' WHEN missing = 1 THEN 'the node looks for it' WHEN held = 1 THEN 'it waits for what it depends on' ELSE 'the node does not know of it' END AS detail FROM circumstance;

CREATE TABLE lacking AS SELECT member, position, lamport, message_id, sender, node, CASE detail WHEN 'dated before the node joined' THEN 'joined_later' WHEN 'the node, or the author, was no member then' THEN 'joined_later' WHEN 'older than what its journal still has' THEN 'retention' WHEN 'the node was not seen for long enough after it' THEN 'lagging' WHEN 'its author was not seen for long enough after it' THEN 'taken_along' WHEN 'it is dated ahead of the clock of the node, and waits there' THEN 'ahead' WHEN 'another database of the node may have it' THEN 'apart' ELSE 'lost' END AS reason, detail FROM explained;

CREATE TABLE allowed AS SELECT member, MIN(position) AS position, MAX(position) AS until, COUNT(*) AS messages FROM (SELECT member, reason, position, position - ROW_NUMBER() OVER (PARTITION BY member, reason ORDER BY position NULLS FIRST) AS stretch FROM lacking WHERE reason <> 'lost') AS numbered GROUP BY member, reason, stretch;

CREATE VIEW unlike AS SELECT c.member, c.message, l.position, l.lamport, l.message_id, c.lamport AS own_lamport, c.damage, CASE WHEN v.lamport <> l.lamport THEN '; Lamport time ' || TRY_CAST(v.lamport AS TEXT) || ', elsewhere ' || TRY_CAST(l.lamport AS TEXT) ELSE '' END || CASE WHEN v.sender <> l.sender THEN '; sender ' || v.sender || ', elsewhere ' || l.sender ELSE '' END || CASE WHEN v.deps <> l.deps AND v.deps || v.digest <> '' THEN '; other dependencies than elsewhere' ELSE '' END || CASE WHEN v.digest <> l.digest AND v.digest <> '' AND l.digest <> '' THEN '; another content than elsewhere' ELSE '' END AS difference FROM disputed AS d JOIN log AS l ON l.message = d.message JOIN copy AS c ON c.message = l.message JOIN version AS v ON v.version = c.version WHERE c.version <> l.version;

CREATE TABLE disordered AS SELECT DISTINCT member FROM unlike WHERE own_lamport <> lamport;

CREATE TABLE ranked AS SELECT c.member, l.position, l.lamport, l.message_id, ROW_NUMBER() OVER (PARTITION BY c.member ORDER BY c.lamport NULLS FIRST, l.message_id NULLS FIRST) AS mine, ROW_NUMBER() OVER (PARTITION BY c.member ORDER BY l.lamport NULLS FIRST, l.message_id NULLS FIRST) AS theirs FROM disordered AS d JOIN copy AS c ON c.member = d.member JOIN log AS l ON l.message = c.message;

CREATE VIEW misplaced AS SELECT member, position, lamport, message_id, other FROM (SELECT o.member, t.position, t.lamport, o.message_id, t.message_id AS other, ROW_NUMBER() OVER (PARTITION BY o.member ORDER BY o.mine NULLS FIRST) AS rank FROM ranked AS o JOIN ranked AS t ON t.member = o.member AND t.theirs = o.mine WHERE t.message_id <> o.message_id) AS differing WHERE rank = 1;

CREATE VIEW late AS SELECT member, message, moment FROM (SELECT s.member, s.message, s.moment, l.position, MAX(l.position) OVER (PARTITION BY s.member ORDER BY s.moment NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS furthest FROM shown AS s JOIN log AS l ON l.message = s.message) AS ordered WHERE position < furthest;

CREATE VIEW suspect AS SELECT n.message, n.message_id, n.position, n.lamport, n.dependency, n.dependency_id, n.dependency_lamport, t.member, t.moment FROM late AS t JOIN needs AS n ON n.dependency = t.message UNION SELECT n.message, n.message_id, n.position, n.lamport, n.dependency, n.dependency_id, n.dependency_lamport, s.member, s.moment FROM needs AS n JOIN shown AS s ON s.message = n.dependency WHERE n.dependency_lamport >= n.lamport;

CREATE VIEW causal AS SELECT p.chan, p.node, t.position, t.lamport, t.message_id, t.dependency_id AS other FROM suspect AS t JOIN shown AS s ON s.member = t.member AND s.message = t.message JOIN presence AS p ON p.member = t.member LEFT JOIN excused AS e ON e.member = t.member AND e.message = t.dependency WHERE t.moment > s.moment AND t.moment // 1099511627776 = s.moment // 1099511627776 AND t.dependency_lamport >= p.horizon AND (e.moment IS NULL OR (e.moment > s.moment AND e.moment // 1099511627776 = s.moment // 1099511627776));

CREATE TABLE ill_timed AS SELECT l.message, TRY_CAST(NULL AS TEXT) AS other, 'its Lamport time is out of bounds' AS detail FROM log AS l CROSS JOIN rule AS r WHERE l.lamport <= 0 OR l.lamport > r.max_lamport UNION ALL SELECT message, dependency_id, 'not dated after what it depends on' FROM needs WHERE dependency_lamport >= lamport UNION ALL SELECT l.message, NULL, 'its sender gave this time to another message too' FROM (SELECT chan, sender, lamport FROM log GROUP BY chan, sender, lamport HAVING COUNT(*) > 1) AS s JOIN log AS l ON l.chan = s.chan AND l.sender = s.sender AND l.lamport = s.lamport;

CREATE TABLE mistimed AS SELECT l.chan, l.sender, l.position, l.lamport, l.message_id, t.other, t.detail, FIRST_VALUE(l.message_id) OVER (PARTITION BY l.chan, l.sender, l.lamport, t.detail ORDER BY l.message_id NULLS FIRST) AS first_id FROM ill_timed AS t JOIN log AS l ON l.message = t.message LEFT JOIN presence AS s ON s.chan = l.chan AND s.node = l.sender LEFT JOIN copy AS c ON c.member = s.member AND c.message = l.message WHERE s.member IS NULL OR c.own = 1;

CREATE TABLE questioned AS SELECT c.member, c.message, c.damage FROM doubtful AS d JOIN copy AS c ON c.member = d.member CROSS JOIN rule AS r WHERE NOT c.damage IS NULL OR (c.lamport > c.received_ms + r.max_skew AND c.own = 0);

CREATE TABLE finding AS SELECT p.chan, p.node, 'altered' AS kind, l.position, l.lamport, l.message_id, TRY_CAST(NULL AS TEXT) AS other, c.damage AS detail FROM questioned AS c JOIN log AS l ON l.message = c.message JOIN presence AS p ON p.member = c.member WHERE NOT c.damage IS NULL UNION ALL SELECT p.chan, p.node, 'content', u.position, u.lamport, u.message_id, NULL, SUBSTRING(u.difference, 3) FROM unlike AS u JOIN presence AS p ON p.member = u.member WHERE u.damage IS NULL AND u.difference <> '' UNION ALL SELECT p.chan, p.node, 'order', m.position, m.lamport, m.message_id, m.other, 'another message stands here' FROM misplaced AS m JOIN presence AS p ON p.member = m.member UNION ALL SELECT p.chan, p.node, 'count', NULL, NULL, NULL, NULL, CASE WHEN k.claimed = k.counted THEN TRY_CAST(k.claimed AS TEXT) || CASE WHEN k.claimed = 1 THEN ' message' ELSE ' messages' END || ', as its own count says, but not the same' ELSE 'its own count says ' || TRY_CAST(k.claimed AS TEXT) || CASE WHEN k.claimed = 1 THEN ' message, ' ELSE ' messages, ' END || TRY_CAST(k.counted AS TEXT) || CASE WHEN k.counted = 1 THEN ' is there' ELSE ' are there' END END FROM claim AS k JOIN presence AS p ON p.member = k.member WHERE k.claimed <> k.counted OR k.claimed_fingerprint <> k.counted_fingerprint UNION ALL SELECT p.chan, p.node, 'gap', l.position, l.lamport, d.message_id, NULL, CASE WHEN l.message IS NULL THEN 'given up; nobody here has it' ELSE 'given up; others have it' END FROM declared AS d JOIN presence AS p ON p.member = d.member LEFT JOIN log AS l ON l.message = d.message WHERE d.kind = 'lost' UNION ALL SELECT chan, node, 'causal', position, lamport, message_id, other, 'shown before what it depends on' FROM causal UNION ALL SELECT chan, sender, 'clock', position, lamport, message_id, CASE WHEN detail = 'its sender gave this time to another message too' THEN first_id ELSE other END, detail FROM mistimed WHERE detail <> 'its sender gave this time to another message too' OR message_id <> first_id UNION ALL SELECT p.chan, p.node, 'clock', l.position, l.lamport, l.message_id, NULL, 'taken before its time' FROM questioned AS c JOIN log AS l ON l.message = c.message JOIN presence AS p ON p.member = c.member WHERE c.damage IS NULL UNION ALL SELECT p.chan, p.node, 'extra', l.position, l.lamport, l.message_id, NULL, 'is in nobody else''s log, and its sender does not know it' FROM extra AS e JOIN log AS l ON l.message = e.message JOIN presence AS p ON p.member = e.member UNION ALL SELECT p.chan, p.node, 'apart', NULL, NULL, NULL, NULL, a.detail FROM apart AS a JOIN presence AS p ON p.member = a.member;

CREATE VIEW fault AS SELECT p.member, f.chan, f.kind, f.position, f.lamport, f.message_id FROM finding AS f LEFT JOIN presence AS p ON p.chan = f.chan AND p.node = f.node WHERE f.kind <> 'gap';

CREATE VIEW lack_count AS SELECT member, SUM(CASE WHEN reason = 'lost' THEN 1 ELSE 0 END) AS lost, SUM(CASE WHEN reason = 'lagging' THEN 1 ELSE 0 END) AS lagging, SUM(CASE WHEN reason IN ('joined_later', 'retention', 'taken_along', 'ahead', 'apart') THEN 1 ELSE 0 END) AS excused FROM lacking GROUP BY member;

CREATE VIEW fault_count AS SELECT member, COUNT(*) AS faults, SUM(CASE WHEN kind = 'extra' THEN 1 ELSE 0 END) AS extras FROM fault GROUP BY member;

CREATE VIEW first_place AS SELECT member, position, lamport, message_id FROM (SELECT member, position, lamport, message_id, ROW_NUMBER() OVER (PARTITION BY member ORDER BY position NULLS FIRST, lamport NULLS FIRST, message_id NULLS FIRST) AS rank FROM (SELECT member, position, lamport, message_id FROM lacking WHERE reason = 'lost' UNION ALL SELECT member, position, lamport, message_id FROM fault WHERE NOT position IS NULL AND NOT member IS NULL) AS places) AS ranked_places WHERE rank = 1;

CREATE VIEW audit_missing AS SELECT p.run_id, p.channel, a.position, a.lamport, a.message_id, a.sender, a.node, a.reason, a.detail, COALESCE(s.until, a.position) AS until, COALESCE(s.messages, 1) AS messages FROM lacking AS a JOIN presence AS p ON p.member = a.member LEFT JOIN allowed AS s ON s.member = a.member AND s.position = a.position WHERE a.reason = 'lost' OR NOT s.member IS NULL;

CREATE VIEW audit_finding AS SELECT c.run_id, c.channel, f.node, f.kind, f.position, f.lamport, f.message_id, f.other, f.detail FROM finding AS f JOIN (SELECT DISTINCT chan, run_id, channel FROM presence) AS c ON c.chan = f.chan;

CREATE TABLE audit_node AS SELECT p.run_id, p.channel, p.node, p.nick, COALESCE(h.messages, 0) AS messages, COALESCE(h.messages, 0) - COALESCE(f.extras, 0) + COALESCE(k.lost, 0) AS owed, COALESCE(k.lost, 0) AS missing, COALESCE(k.lagging, 0) AS lagging, COALESCE(k.excused, 0) AS excused, COALESCE(f.faults, 0) AS faults, p.first_ms, p.last_ms, d.position AS first_position, d.lamport AS first_lamport, d.message_id AS first_id, COALESCE(k.lost, 0) = 0 AND COALESCE(f.faults, 0) = 0 AS agrees FROM presence AS p LEFT JOIN holding AS h ON h.member = p.member LEFT JOIN lack_count AS k ON k.member = p.member LEFT JOIN fault_count AS f ON f.member = p.member LEFT JOIN first_place AS d ON d.member = p.member;

CREATE VIEW channel_fault AS SELECT chan, COUNT(*) AS faults FROM fault GROUP BY chan;

CREATE VIEW log_sum AS SELECT chan, COUNT(*) AS messages, MAX(lamport) AS checked_to, BIT_XOR(x1) AS x1, BIT_XOR(x2) AS x2 FROM log GROUP BY chan;

CREATE VIEW channel_lack AS SELECT p.chan, COUNT(*) AS all_lacking, SUM(CASE WHEN a.reason = 'lost' THEN 1 ELSE 0 END) AS lost FROM lacking AS a JOIN presence AS p ON p.member = a.member GROUP BY p.chan;

CREATE VIEW audit_channel AS SELECT c.run_id, c.channel, w.nodes, COALESCE(l.messages, 0) AS messages, COALESCE(k.lost, 0) = 0 AND COALESCE(f.faults, 0) = 0 AS converged, COALESCE(k.lost, 0) AS missing, COALESCE(k.all_lacking, 0) - COALESCE(k.lost, 0) AS excused, COALESCE(f.faults, 0) AS faults, COALESCE(l.checked_to, 0) AS checked_to, COALESCE(l.x1, 0) AS x1, COALESCE(l.x2, 0) AS x2 FROM (SELECT DISTINCT chan, run_id, channel FROM presence) AS c JOIN crowd AS w ON w.chan = c.chan LEFT JOIN log_sum AS l ON l.chan = c.chan LEFT JOIN channel_lack AS k ON k.chan = c.chan LEFT JOIN channel_fault AS f ON f.chan = c.chan;
