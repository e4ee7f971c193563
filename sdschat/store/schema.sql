-- The tables of a new database, as the migrations of schema.py leave them: `python -m tests.store.old_schemas`.
CREATE TABLE "answer" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "message_id" TEXT NOT NULL,
   "requested_by" TEXT NOT NULL,
   "due" INTEGER NOT NULL,
   "at" INTEGER NOT NULL,
   "asked" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
, "lacked_by" TEXT NOT NULL DEFAULT '[]', "called_off" INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE UNIQUE INDEX "answer_key"
    ON "answer" ("channel", "message_id");
CREATE TABLE "body" (
   "place" INTEGER PRIMARY KEY REFERENCES "log"("place") ON DELETE CASCADE,
   "raw" BLOB NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "boot" (
   "id" INTEGER PRIMARY KEY,
   "node" TEXT NOT NULL,
   "boot" TEXT NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "channel" (
   "id" INTEGER PRIMARY KEY,
   "name" TEXT NOT NULL,
   "messages" INTEGER NOT NULL,
   "newest" INTEGER NOT NULL,
   "fingerprint" BLOB NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "channel_name"
    ON "channel" ("name");
CREATE TABLE "channel_state" (
   "channel" INTEGER PRIMARY KEY REFERENCES "channel"("id") ON DELETE CASCADE,
   "layout" TEXT NOT NULL,
   "lamport" INTEGER NOT NULL,
   "horizon" INTEGER NOT NULL,
   "generation" INTEGER NOT NULL,
   "floor" INTEGER NOT NULL,
   "waku_heard_at" INTEGER NOT NULL,
   "sync_due" INTEGER NOT NULL,
   "sync_latest" INTEGER NOT NULL,
   "sync_spoke_at" INTEGER NOT NULL,
   "sync_count" INTEGER NOT NULL,
   "range_cursor" INTEGER NOT NULL,
   "range_wanted_low" INTEGER NOT NULL,
   "range_wanted_high" INTEGER NOT NULL,
   "range_answered_at" INTEGER NOT NULL,
   "answer_spent" INTEGER NOT NULL,
   "push_spent" INTEGER NOT NULL,
   "spent_at" INTEGER NOT NULL,
   "offline_since" INTEGER NOT NULL,
   "filter_stale" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
, "range_only_print" INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE "direct" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "message_id" TEXT NOT NULL,
   "peer" TEXT NOT NULL,
   "own" INTEGER NOT NULL,
   "nick" TEXT NOT NULL,
   "text" TEXT NOT NULL,
   "kind" INTEGER NOT NULL,
   "sent_at" INTEGER NOT NULL,
   "received_at" INTEGER NOT NULL,
   "state" INTEGER NOT NULL,
   "reply_to" TEXT NOT NULL,
   "verdict" TEXT NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE INDEX direct_channel ON direct (channel);
CREATE UNIQUE INDEX "direct_key"
    ON "direct" ("channel", "message_id");
CREATE INDEX direct_peer ON direct (peer);
CREATE TABLE "draft" (
   "channel" INTEGER PRIMARY KEY REFERENCES "channel"("id") ON DELETE CASCADE,
   "text" TEXT NOT NULL,
   "at" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "gap" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "message_id" TEXT NOT NULL,
   "reason" TEXT NOT NULL,
   "sender_id" TEXT,
   "at" INTEGER NOT NULL,
   "charged_to" TEXT NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "gap_key"
    ON "gap" ("channel", "message_id");
CREATE TABLE "held" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "message_id" TEXT NOT NULL,
   "raw" BLOB NOT NULL,
   "via" TEXT NOT NULL,
   "generation" INTEGER NOT NULL,
   "received_at" INTEGER NOT NULL,
   "release_at" INTEGER NOT NULL,
   "gap" TEXT NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "held_key"
    ON "held" ("channel", "message_id");
CREATE TABLE "hint" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "message_id" TEXT NOT NULL,
   "hint" BLOB NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "hint_key"
    ON "hint" ("channel", "message_id");
CREATE TABLE "journal" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER REFERENCES "channel"("id") ON DELETE CASCADE,
   "event" TEXT NOT NULL,
   "message_id" TEXT,
   "sender" TEXT,
   "lamport" INTEGER,
   "peer" TEXT,
   "ts_ms" INTEGER NOT NULL,
   "mono_us" INTEGER NOT NULL,
   "bytes" INTEGER,
   "payload_bytes" INTEGER,
   "overhead_bytes" INTEGER,
   "deps" TEXT,
   "attempt" INTEGER,
   "cause" TEXT,
   "messages" INTEGER,
   "fingerprint" TEXT,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "key_met" (
   "public_key" BLOB PRIMARY KEY,
   "nick" TEXT NOT NULL,
   "first_seen" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "log" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "lamport" INTEGER NOT NULL,
   "message_id" TEXT NOT NULL,
   "sender_id" TEXT NOT NULL,
   "dependencies" TEXT NOT NULL,
   "generation" INTEGER NOT NULL,
   "own" INTEGER NOT NULL,
   "via" TEXT NOT NULL,
   "received_at" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "log_id"
    ON "log" ("channel", "message_id");
CREATE UNIQUE INDEX "log_order"
    ON "log" ("channel", "lamport", "message_id");
CREATE TABLE "missing" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "message_id" TEXT NOT NULL,
   "sender_id" TEXT,
   "hint" BLOB,
   "charged_to" TEXT NOT NULL,
   "since" INTEGER NOT NULL,
   "lost_at" INTEGER NOT NULL,
   "t_req" INTEGER NOT NULL,
   "attempts" INTEGER NOT NULL,
   "suppressed" INTEGER NOT NULL,
   "awaited" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "missing_key"
    ON "missing" ("channel", "message_id");
CREATE TABLE "mvds_message" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "message_id" TEXT NOT NULL,
   "group_id" BLOB NOT NULL,
   "timestamp" INTEGER NOT NULL,
   "body" BLOB NOT NULL,
   "metadata" TEXT NOT NULL,
   "peer" TEXT NOT NULL,
   "received_at" INTEGER NOT NULL,
   "gap" TEXT NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "mvds_message_key"
    ON "mvds_message" ("channel", "message_id");
CREATE TABLE "mvds_row" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "name" TEXT NOT NULL,
   "value" TEXT NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "mvds_row_key"
    ON "mvds_row" ("channel", "name");
CREATE TABLE "nick_held" (
   "skeleton" TEXT PRIMARY KEY,
   "nick" TEXT NOT NULL,
   "public_key" BLOB NOT NULL,
   "since" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "outgoing" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "message_id" TEXT NOT NULL,
   "lamport" INTEGER NOT NULL,
   "state" INTEGER NOT NULL,
   "sends" INTEGER NOT NULL,
   "due" INTEGER NOT NULL,
   "evidence" TEXT NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "outgoing_key"
    ON "outgoing" ("channel", "message_id");
CREATE INDEX "outgoing_state"
    ON "outgoing" ("channel", "state", "lamport", "message_id");
CREATE TABLE past (place INTEGER PRIMARY KEY, channel INTEGER NOT NULL REFERENCES channel (id) ON DELETE CASCADE, lamport INTEGER NOT NULL, message_id BLOB NOT NULL, sender INTEGER NOT NULL, named BLOB NOT NULL) STRICT;
CREATE INDEX past_id ON past (channel, substr(message_id, 1, 8));
CREATE INDEX past_order ON past (channel, lamport);
CREATE TABLE past_sender (id INTEGER PRIMARY KEY, sender_id TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX past_sender_id ON past_sender (sender_id);
CREATE TABLE "peer" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "sender_id" TEXT NOT NULL,
   "first_lamport" INTEGER NOT NULL,
   "last_lamport" INTEGER NOT NULL,
   "heard_at" INTEGER NOT NULL,
   "reviewed_at" INTEGER NOT NULL,
   "behind_since" INTEGER NOT NULL,
   "behind" BLOB NOT NULL,
   "reported" BLOB NOT NULL,
   "cursor" INTEGER NOT NULL,
   "layout" TEXT NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "peer_key"
    ON "peer" ("channel", "sender_id");
CREATE TABLE "push" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "message_id" TEXT NOT NULL,
   "lamport" INTEGER NOT NULL,
   "wanted_by" TEXT NOT NULL,
   "due" INTEGER NOT NULL,
   "pushes" INTEGER NOT NULL,
   "not_before" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "push_key"
    ON "push" ("channel", "message_id");
CREATE TABLE "range_bucket" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "start" TEXT NOT NULL,
   "count" INTEGER NOT NULL,
   "total" BLOB NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "range_bucket_key"
    ON "range_bucket" ("channel", "start");
CREATE TABLE "read_mark" (
   "channel" INTEGER PRIMARY KEY REFERENCES "channel"("id") ON DELETE CASCADE,
   "lamport" INTEGER NOT NULL,
   "message_id" TEXT NOT NULL,
   "place" INTEGER NOT NULL,
   "at" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "rejection" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "reason" TEXT NOT NULL,
   "count" INTEGER NOT NULL,
   "last_at" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "rejection_key"
    ON "rejection" ("channel", "reason");
CREATE VIRTUAL TABLE search USING fts5(text, content='text', content_rowid='place', tokenize='unicode61 remove_diacritics 2');
CREATE TABLE "setting" (
   "name" TEXT PRIMARY KEY,
   "value" BLOB NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "standing" (
   "sender_id" TEXT PRIMARY KEY,
   "standing" INTEGER NOT NULL,
   "since" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "text" (
   "place" INTEGER PRIMARY KEY REFERENCES "log"("place") ON DELETE CASCADE,
   "nick" TEXT NOT NULL,
   "text" TEXT NOT NULL,
   "verdict" TEXT NOT NULL,
   "sent_at" INTEGER NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE TABLE "timber_operation" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "name" TEXT NOT NULL,
   "arrival" INTEGER NOT NULL,
   "raw" BLOB NOT NULL,
   "signature" BLOB NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "timber_operation_key"
    ON "timber_operation" ("channel", "name");
CREATE TABLE timber_post (channel INTEGER NOT NULL REFERENCES channel(id) ON DELETE CASCADE, author INTEGER NOT NULL, number INTEGER NOT NULL, rank INTEGER NOT NULL, time INTEGER NOT NULL, text TEXT NOT NULL, edit INTEGER NOT NULL, answers TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (channel, author, number)) STRICT, WITHOUT ROWID;
CREATE TABLE "timber_row" (
   "place" INTEGER PRIMARY KEY,
   "channel" INTEGER NOT NULL REFERENCES "channel"("id") ON DELETE CASCADE,
   "name" TEXT NOT NULL,
   "value" TEXT NOT NULL,
   "sum" INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX "timber_row_key"
    ON "timber_row" ("channel", "name")
