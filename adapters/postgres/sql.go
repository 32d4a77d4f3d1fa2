package postgresstore

import "strings"

// The fingerprint of the server that answers is its cluster and its life. The system identifier
// tells another cluster; the timeline a promotion (asked of the WAL position: the control file lags behind
// until the checkpoint after a promotion is done); the postmaster's start, in microseconds, a
// restart, which may have put an older copy of the files in place. The life alone tells two servers apart
// as far as a marker goes, and costs no look at the control file, so the frequent statements ask for no more.
const (
	system = `(SELECT c.system_identifier FROM pg_control_system() c)`
	life   = `(substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || ':' || (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint)`
)

// durable makes this transaction wait for its commit to be on disk even where the role or the
// database says synchronous_commit = off: a crash of a backend would take back the last renewals
// without any restart that a freeze would answer. Stronger settings are left as they are.
const durable = `(current_setting('synchronous_commit') <> 'off' OR set_config('synchronous_commit', 'local', true) <> '')`

// Rows that a statement has locked are changed by "key = ANY(ARRAY(SELECT ...))": the locks are
// taken first, and whatever the planner believes of a table whose statistics are old, it looks the rows up
// by key instead of comparing each with each.

// Pieces that the statements share. $1 is always the fleet, and $2 the session where there is one.
const (
	// settled is the fleet's marker where grants and plain renewals count: this life of the server,
	// with its freeze seen to end. Without it a statement does nothing and answers no row.
	settled = `f AS MATERIALIZED (SELECT incarnation, token_floor FROM {s}.fleet
		WHERE fleet = $1 AND thawed AND life = {life} AND {durable})`
	// settledFor is settled, and knows of sessions as long as $3 µs.
	settledFor = `f AS MATERIALIZED (SELECT incarnation FROM {s}.fleet
		WHERE fleet = $1 AND thawed AND life = {life} AND {durable} AND max_ttl_us >= $3::bigint)`
	// frozen is the marker while grants are frozen. Its lock makes the end of the freeze wait for
	// every re-assertion in flight, so that a grant's snapshot has them all.
	frozen = `f AS MATERIALIZED (SELECT incarnation, {us:frozen_until - clock_timestamp()} AS left_us FROM {s}.fleet
		WHERE fleet = $1 AND NOT thawed AND life = {life} AND frozen_until > clock_timestamp() AND {durable} FOR SHARE)`
	// present is the marker in either state.
	present = `f AS MATERIALIZED (SELECT incarnation FROM {s}.fleet WHERE fleet = $1 AND life = {life})`
	// me is the caller's session while it is alive.
	me = `me AS MATERIALIZED (SELECT s.owner FROM {s}.session s, f
		WHERE s.fleet = $1 AND s.id = $2 AND s.lapsed_in IS NULL AND s.expires_at > clock_timestamp())`
	// holds says of a lease l and its session s, as the marker f stands, that the key is not free.
	holds = `l.incarnation = f.incarnation AND s.lapsed_in IS NULL AND s.expires_at > clock_timestamp()
		AND (l.revoked_until IS NULL OR l.revoked_until > clock_timestamp())`
	ttl = `clock_timestamp() + $3::bigint * interval '1 microsecond'`
	// msOfTTL is the TTL for the bound of idle transactions, rounded up.
	msOfTTL = `(($3::bigint + 999) / 1000)::integer`
	// nowUS is the server's time in microseconds, the part of a token that outlives lost data.
	nowUS = `{us:clock_timestamp()}`
)

// statements are the store's statements, written out for one schema.
type statements struct {
	state, begin, lengthen, forward                 string
	thaw, provision                                 string
	open, openFrozen, renew, renewed, closeSession  string
	lapse, insert, grant, standing                  string
	verify, verifyFrozen, release, revoke, leases   string
	beat, view, lives, beginDrain, leave            string
	statusLife, statusPut, statuses, statusesAll    string
	planHead, targetGone, targetPut                 string
	targetOf, targetsAll                            string
	notify, fence, fenceWhy, fenceIdle              string
	purgeLapse, purgeNames, purgeSessions           string
	purgeLeases, purgeMembers, purgeStatus, purgeSO string
}

// fill writes a statement out for a schema: {s} is the schema, {us:x} is x in microseconds.
func fill(schema, sql string) string {
	for {
		at := strings.Index(sql, "{us:")
		if at < 0 {
			break
		}
		end := at + strings.IndexByte(sql[at:], '}')
		sql = sql[:at] + "(extract(epoch FROM " + sql[at+len("{us:"):end] + ") * 1000000)::bigint" + sql[end+1:]
	}
	return strings.NewReplacer("{s}", quoted(schema), "{system}", system, "{life}", life, "{durable}", durable).Replace(sql)
}

func newStatements(schema string) statements {
	f := func(sql string) string { return fill(schema, sql) }
	return statements{
		state: f(sqlState), begin: f(sqlBegin), lengthen: f(sqlLengthen), forward: f(sqlForward), thaw: f(sqlThaw), provision: f(sqlProvision),
		open: f(sqlOpen), openFrozen: f(sqlOpenFrozen), renew: f(sqlRenew), renewed: f(sqlRenewed), closeSession: f(sqlCloseSession),
		lapse: f(sqlLapse), insert: f(sqlInsert), grant: f(sqlGrant), standing: f(sqlStanding),
		verify: f(sqlVerify), verifyFrozen: f(sqlVerifyFrozen), release: f(sqlRelease), revoke: f(sqlRevoke), leases: f(sqlLeases),
		beat: f(sqlBeat), view: f(sqlView), lives: f(sqlLives), beginDrain: f(sqlBeginDrain), leave: f(sqlLeave),
		statusLife: f(sqlStatusLife), statusPut: f(sqlStatusPut), statuses: f(sqlStatuses), statusesAll: f(sqlStatusesAll),
		planHead: f(sqlPlanHead), targetGone: f(sqlTargetGone), targetPut: f(sqlTargetPut), targetOf: f(sqlTargetOf), targetsAll: f(sqlTargetsAll),
		notify: `SELECT pg_notify($1, $2)`, fence: f(sqlFence), fenceWhy: f(sqlFenceWhy), fenceIdle: sqlFenceIdle,
		purgeLapse: f(sqlPurgeLapse), purgeNames: f(sqlPurgeNames), purgeSessions: f(sqlPurgeSessions),
		purgeLeases: f(sqlPurgeLeases), purgeMembers: f(sqlPurgeMembers), purgeStatus: f(sqlPurgeStatus), purgeSO: f(sqlPurgeStatusOwners),
	}
}
