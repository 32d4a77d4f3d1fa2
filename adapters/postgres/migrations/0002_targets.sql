-- The fleet's plan. Its head is one row, and whoever writes targets locks it first, so that a planner
-- who was deposed writes nothing and batches of two planners never mix. The history is kept out of line: an update
-- that leaves it does not write it again, and a reader who does not ask for it does not read it.
CREATE TABLE {s}.plan (
	token bigint NOT NULL,            -- the planner's fencing token, and
	epoch bigint NOT NULL,            -- the number of its plan: together they only rise
	incarnation bigint NOT NULL,      -- of the store that the plan was made in
	digest bigint NOT NULL,           -- of the plan's inputs, bit for bit
	written_at timestamptz NOT NULL,
	fleet text COLLATE "C" PRIMARY KEY,
	planner text COLLATE "C" NOT NULL,
	history bytea NOT NULL            -- the planner's own encoding
) WITH (fillfactor = 50);

-- One row for each instance that the plan names, rewritten where its set changes.
CREATE TABLE {s}.target (
	token bigint NOT NULL,            -- of the head that it was written under
	epoch bigint NOT NULL,
	incarnation bigint NOT NULL,
	fleet text COLLATE "C" NOT NULL,
	id text COLLATE "C" NOT NULL,
	keys text NOT NULL,               -- JSON array of workload keys; empty: run nothing
	PRIMARY KEY (fleet, id)
) WITH (fillfactor = 50);
