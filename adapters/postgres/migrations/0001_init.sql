-- Keys are text COLLATE "C": compared byte for byte as Go does, and untouched by an upgrade of the
-- system's collations. Tables are logged (an unlogged one is empty after a crash), filled to half
-- so that renewals stay on their page, and no expiry is in any index: an index on a column that
-- each renewal moves would make every renewal write the index too.

CREATE TABLE {s}.fleet (
	fleet text COLLATE "C" PRIMARY KEY,
	incarnation bigint NOT NULL,      -- which life of the server the leases count in
	system bigint NOT NULL,           -- the cluster that wrote this row last, and
	life text NOT NULL,               -- its timeline and its postmaster's start
	frozen_until timestamptz NOT NULL,
	thawed boolean NOT NULL,          -- the freeze was seen to end; grants need it
	max_ttl_us bigint NOT NULL,       -- the longest MaxTTL that any client named: so long is a freeze
	token_floor bigint NOT NULL DEFAULT 0 -- highest token of the lease rows that were purged
) WITH (fillfactor = 50);

CREATE TABLE {s}.session (
	expires_at timestamptz NOT NULL,
	revision bigint NOT NULL DEFAULT 0,
	lapsed_in bigint,                 -- the incarnation in which it lapsed; null while it has not
	ttl_ms integer NOT NULL,
	fleet text COLLATE "C" NOT NULL,
	id text COLLATE "C" NOT NULL,
	owner text COLLATE "C" NOT NULL,
	PRIMARY KEY (fleet, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE {s}.lease (
	token bigint NOT NULL,
	incarnation bigint NOT NULL,      -- in which it was granted or verified
	since timestamptz NOT NULL,       -- when it was granted, or let go
	revoked_until timestamptz,        -- set by an operator: free from then on
	fleet text COLLATE "C" NOT NULL,
	key text COLLATE "C" NOT NULL,
	session text COLLATE "C",         -- null: free
	PRIMARY KEY (fleet, key),
	-- It looks superfluous beside the primary key and must stay, plain and whole: it makes token a
	-- key column, so that even a hand-written takeover conflicts with a fence's FOR KEY SHARE.
	CONSTRAINT lease_fence UNIQUE (fleet, key, token),
	-- No cascade: a session that a lease names is not purged, and nothing else follows from it.
	CONSTRAINT lease_session FOREIGN KEY (fleet, session) REFERENCES {s}.session (fleet, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX lease_by_session ON {s}.lease (fleet, session) WHERE session IS NOT NULL;

CREATE TABLE {s}.member (
	joined_at timestamptz NOT NULL,
	expires_at timestamptz NOT NULL,
	ttl_us bigint NOT NULL,           -- of its last heartbeat: it lives for no longer, whatever is done to the clock
	rev bigint NOT NULL,              -- moves when others have something to see, never with a heartbeat
	draining boolean NOT NULL,
	leaving boolean NOT NULL,
	fleet text COLLATE "C" NOT NULL,
	id text COLLATE "C" NOT NULL,
	description text NOT NULL,        -- JSON of the instance
	PRIMARY KEY (fleet, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

-- One row per owner carries the life of all its status records, so that extending them is one write.
CREATE TABLE {s}.status_owner (
	born_at timestamptz NOT NULL,     -- records written before it died with the owner's earlier life
	expires_at timestamptz NOT NULL,
	fleet text COLLATE "C" NOT NULL,
	owner text COLLATE "C" NOT NULL,
	PRIMARY KEY (fleet, owner)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE {s}.status (
	token bigint NOT NULL,
	since timestamptz NOT NULL,
	written_at timestamptz NOT NULL,
	fleet text COLLATE "C" NOT NULL,
	key text COLLATE "C" NOT NULL,
	owner text COLLATE "C" NOT NULL,
	state text COLLATE "C" NOT NULL,
	name text NOT NULL,
	info text NOT NULL,
	PRIMARY KEY (fleet, key)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
