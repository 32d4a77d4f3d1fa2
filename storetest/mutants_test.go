package storetest

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The mutants: what a store may do wrong, and the checks that must say so.
const (
	renewRevives          bug = "Renew revives a lapsed session whose keys nobody took"
	renewIgnoresExpiry    bug = "Renew ignores the expiry"
	renewIgnoresTakeover  bug = "Renew revives a lapsed session that no record names any more"
	renewShort            bug = "Renew answers, and extends nothing"
	acquireGap            bug = "Acquire reads, waits, and then writes"
	acquireExtends        bug = "Acquire extends the session"
	verifyExtends         bug = "Verify extends the session"
	verifyAlways          bug = "Verify always says held"
	verifyIgnoresToken    bug = "Verify ignores the token"
	tokenRestarts         bug = "the token restarts after a release"
	tokenMoves            bug = "the token moves on Renew"
	tokenCounter          bug = "the token is a counter without a clock"
	tokenClockOnly        bug = "the token is a clock without a counter"
	tokenInexact          bug = "the token loses its last digits"
	releaseIgnoresToken   bug = "Release ignores the token"
	releaseIgnoresSession bug = "Release ignores the session"
	releaseFails          bug = "Release of what is not held is an error"
	releaseSlow           bug = "Release frees the key a second later"
	prefixCompare         bug = "sessions are compared up to the caller's length"
	sessionsLocal         bug = "a session is known to its own handle alone"
	keyByOwner            bug = "a key belongs to an owner, not to a session"
	openEndsOthers        bug = "OpenSession ends the owner's other sessions"
	openRevives           bug = "OpenSession revives lapsed and closed sessions"
	openOnce              bug = "OpenSession of an open session extends nothing"
	closeLeavesLeases     bug = "CloseSession leaves the leases"
	closeTwiceFails       bug = "CloseSession of a closed session is an error"
	clientClock           bug = "expiry is judged by the client's clock"
	subMillisecond        bug = "a TTL below a millisecond is accepted"
	shortUnrecorded       bug = "a grant under a very short TTL leaves no record"
	ttlDown               bug = "the TTL is rounded down"
	noMaxTTL              bug = "a TTL above MaxTTL is accepted"
	boundaryOff           bug = "alive at the instant of expiry"
	keysLowered           bug = "keys are lower-cased"
	keysTrimmed           bug = "keys are trimmed"
	keysCut               bug = "keys are cut at 255 bytes"
	badKeySkipped         bug = "an invalid key in a batch is skipped"
	answersTwice          bug = "a key listed twice is answered twice"
	dropsKeys             bug = "a batch is cut at 1000 keys"
	allOrNothing          bug = "a batch is granted whole or not at all"
	ownRefused            bug = "the session's own key is refused"
	ownAnew               bug = "the session's own key gets a new token"
	lapseOfReleased       bug = "a lapse is told where the key was released"
	lapseOfClosed         bug = "a lapse is told where the session was closed"
	lapseUntold           bug = "no lapse is told"
	lapseSinceEver        bug = "a lapse is told to be older than it is"
	refusalAnonymous      bug = "a refusal names nobody"
	retryEarly            bug = "RetryAfter is too short"
	refusedExtends        bug = "a refused try extends the holder"
	refusedTakesToken     bug = "a refused try takes a token"
	listShowsLapsed       bug = "the list shows lapsed leases"
	listUnordered         bug = "the list is out of order"
	hintIsTruth           bug = "a refusal is believed until a hint comes"
	revokeFrees           bug = "Revoke frees the key at once"
	revokeSilent          bug = "Revoke leaves the revision"
	revokeMoves           bug = "a second Revoke moves the moment"
	revokeIsSoft          bug = "renewals keep a revoked key"
	revokedComesBack      bug = "the holder gets its revoked key back"
	revisionDrifts        bug = "the revision rises with every renewal"
	noFreeze              bug = "no freeze after a loss of data"
	shortFreeze           bug = "the freeze is half as long as it must be"
	frozenGrants          bug = "grants go on in a freeze"
	frozenRenewLapses     bug = "a forgotten session lapses in a freeze"
	frozenSaysLapsed      bug = "Verify says lapsed in a freeze"
	verifyForgets         bug = "Verify writes nothing again in a freeze"
	olderClaimWins        bug = "Verify writes an older token over a newer one"
	recordsCount          bug = "records of an earlier incarnation count"
	incarnationMoves      bug = "the incarnation moves with every session"
	provisionResets       bug = "Provision begins a new incarnation"
	restartForgets        bug = "a restart silently forgets the leases"
	joinMoves             bug = "a heartbeat moves JoinedAt"
	joinForgotten         bug = "a join time that a heartbeat brings is ignored"
	beatClearsDrain       bug = "a heartbeat clears the drain mark"
	beatDrainIgnored      bug = "a drain mark in a heartbeat is ignored"
	drainOutlives         bug = "the drain mark outlives its instance"
	drainUnseen           bug = "a drain mark does not move the generation"
	leavingIsDrain        bug = "leaving makes a drain mark"
	membersExpired        bug = "expired members are shown"
	expiryUnseen          bug = "an expiry does not move the generation"
	membersByID           bug = "members are ordered by ID"
	labelsShared          bug = "labels share memory with the store"
	labelsLost            bug = "labels are lost"
	nextIsSelf            bug = "NextExpiry counts the one who asks"
	generationStuck       bug = "the generation never moves"
	generationRestless    bug = "the generation moves with every heartbeat"
	generationCounts      bug = "the generation is the number of members"
	badHeartbeat          bug = "heartbeats are not checked"
	statusIgnoresToken    bug = "a status with an older token overwrites"
	equalTokenWins        bug = "a status of another owner with an equal token overwrites"
	statusForever         bug = "statuses never expire"
	statusRevives         bug = "expired statuses come back with their owner"
	extendsNone           bug = "PutStatus does not extend the owner's other records"
	extendsAll            bug = "PutStatus extends everybody's records"
	sinceMoves            bug = "Since moves with every write"
	statusOwnerKept       bug = "a record keeps the owner that it came with"
	ctxIgnored            bug = "an ended context is ignored"
	hangsOn               bug = "calls hang on after their context"
	useAfterClose         bug = "a closed handle goes on"
	closeLetsGo           bug = "closing a handle frees all leases"
	noHints               bug = "hints never come"
	noDrainHint           bug = "a drain is not hinted"
	noResync              bug = "watching begins without a resync"
	hintPerBeat           bug = "every heartbeat is hinted"
	watchEndsSilently     bug = "Watch returns no reason"
	watcherBlocks         bug = "a slow watcher holds up the store"
	fleetsShared          bug = "all fleets are one"
	oneForAll             bug = "all keys are one"
	acquireOpens          bug = "Acquire opens the session"
	lapseSlow             bug = "a lapse frees the first key, and the others later"
	listShared            bug = "the list is the store's own"
	lapseKeepsToken       bug = "a takeover after a lapse keeps the token"
	contentionFails       bug = "contention is an error"
	keysUnchecked         bug = "keys are not checked"
	membersCapped         bug = "a view has at most 50 members"
	statusUnordered       bug = "statuses are out of order"
	statusUnchecked       bug = "statuses are not checked"
	leaveTakesAll         bug = "Leave takes the statuses along"
	idsLowered            bug = "instance IDs are lower-cased"
	cutShortReleases      bug = "a call that is cut short lets go of its keys"
	tiedToContext         bug = "what a call did ends with its context"
	closedOddly           bug = "a closed handle answers with an error of its own"
	watchOutlives         bug = "Watch goes on after its handle was closed"
)

var storeMutants = map[bug]string{
	renewRevives: "O07", renewIgnoresExpiry: "O07 X02", renewIgnoresTakeover: "O08 X10", renewShort: "O03 X06",
	acquireGap: "T04 T05 B05 P01", acquireExtends: "O21", verifyExtends: "O21", verifyAlways: "O20 B06", verifyIgnoresToken: "O20 T03",
	tokenRestarts: "O10 T01 T03", tokenMoves: "O03", tokenCounter: "T03 N04 N10", tokenClockOnly: "T01 X08", tokenInexact: "T01",
	releaseIgnoresToken: "O04", releaseIgnoresSession: "O05", releaseFails: "O09", releaseSlow: "O14", prefixCompare: "O06",
	sessionsLocal: "O17", keyByOwner: "O13", openEndsOthers: "O13", openRevives: "O19", openOnce: "O16",
	closeLeavesLeases: "O18 T01", closeTwiceFails: "O18", clientClock: "X07", subMillisecond: "X03", shortUnrecorded: "X11",
	ttlDown: "X04", noMaxTTL: "X05", boundaryOff: "X02 X09", keysLowered: "K01", keysTrimmed: "K01", keysCut: "K03",
	badKeySkipped: "B03", answersTwice: "B07", dropsKeys: "B01", allOrNothing: "B02", ownRefused: "O10 O02", ownAnew: "O10 C07 C04",
	lapseOfReleased: "O25", lapseOfClosed: "O25", lapseSinceEver: "O25", lapseUntold: "O26",
	refusalAnonymous: "O01", retryEarly: "X09", refusedExtends: "O02 X01", refusedTakesToken: "O02", listShowsLapsed: "O22", listUnordered: "O22",
	hintIsTruth: "O14", revokeFrees: "R02", revokeSilent: "R01", revokeMoves: "R05", revokeIsSoft: "R03", revokedComesBack: "R04",
	revisionDrifts: "R06", noFreeze: "N01 N03", shortFreeze: "N01 N04", frozenGrants: "N03 N04", frozenRenewLapses: "N03",
	frozenSaysLapsed: "N07", verifyForgets: "N03", olderClaimWins: "N06", recordsCount: "N05", incarnationMoves: "N08",
	provisionResets: "N02", restartForgets: "Z03", joinMoves: "I01", joinForgotten: "I11 N09", beatClearsDrain: "I03", beatDrainIgnored: "I12 N09",
	drainOutlives: "I04 I05", drainUnseen: "I07", leavingIsDrain: "I09", membersExpired: "I02", expiryUnseen: "I07", membersByID: "I06",
	labelsShared: "I06", labelsLost: "I08", nextIsSelf: "I15", generationStuck: "I07 I14", generationRestless: "I07", generationCounts: "I07 I14",
	badHeartbeat: "I13", statusIgnoresToken: "S03", equalTokenWins: "S03", statusForever: "S02", statusRevives: "S11", extendsNone: "S04",
	extendsAll: "S04", sinceMoves: "S07", statusOwnerKept: "S09", ctxIgnored: "C01", hangsOn: "C02 C03", useAfterClose: "Z01", closeLetsGo: "Z02",
	noHints: "W01", noDrainHint: "W01", noResync: "W01", hintPerBeat: "W02", watchEndsSilently: "W03", watcherBlocks: "W04", fleetsShared: "O12",
	oneForAll:        "O11",
	acquireOpens:     "O15",
	lapseSlow:        "O23",
	listShared:       "O24",
	lapseKeepsToken:  "T02 O07",
	contentionFails:  "B04 T05",
	keysUnchecked:    "K04 B03",
	membersCapped:    "I10",
	statusUnordered:  "S01 S08",
	statusUnchecked:  "S06",
	leaveTakesAll:    "S10",
	idsLowered:       "K02",
	cutShortReleases: "C05",
	tiedToContext:    "C06",
	closedOddly:      "Z01 Z05",
	watchOutlives:    "W05",
}

// mutants are all of them.
func mutants() map[bug]string {
	all := maps.Clone(storeMutants)
	maps.Copy(all, targetMutants)
	maps.Copy(all, tickMutants)
	return all
}

// modelConfig is a configuration for a model with a bug.
func modelConfig(b bug) Config {
	const most = 20 * time.Second
	shared := newModel(b, most)
	cfg, err := Config{
		Open: func(*testing.T) (Store, Store) {
			m := newModel(b, most)
			if b == fleetsShared {
				m = shared
			}
			return m.handle(), m.handle()
		},
		MaxTTL: most, Bubble: synctest.Test, Faults: modelFaults(), Seed: 1,
	}.resolve()
	if err != nil {
		panic(err)
	}
	return cfg
}

// TestModel shows that what the mutants are made of is sound: every check passes on it.
func TestModel(t *testing.T) {
	Run(t, modelConfig(""))
}

// TestMutants shows that every mutant is found by the checks that are named for it.
func TestMutants(t *testing.T) {
	for b, ids := range mutants() {
		t.Run(strings.ReplaceAll(string(b), " ", "_"), func(t *testing.T) {
			for id := range strings.FieldsSeq(ids) {
				if failed, text := trial(t, modelConfig(b), checkByID(t, id)); !failed {
					t.Errorf("%s passes a store in which %s\n%s", id, b, text)
				} else if testing.Verbose() {
					t.Logf("%s: %s", id, text)
				}
			}
		})
	}
}

func checkByID(t *testing.T, id string) check {
	t.Helper()
	for _, c := range catalogue() {
		if c.id == id {
			return c
		}
	}
	t.Fatalf("there is no check %s", id)
	return check{}
}

// trial runs one check on a store that may be wrong, without failing the test that asks.
func trial(t *testing.T, cfg Config, c check) (failed bool, text string) {
	v := &verdict{}
	inTime(t, cfg, func(t *testing.T) {
		done := make(chan struct{})
		go func() { // the verdict's Fatalf ends this goroutine alone
			defer close(done)
			e := newEnv(t, cfg, c, v)
			defer e.explain(func() bool { return v.failed })
			e.run()
		}()
		<-done
	})
	return v.failed, strings.Join(v.lines, "\n")
}

// verdict is a reporter that keeps what it is told.
type verdict struct {
	mu     sync.Mutex
	failed bool
	lines  []string
}

func (v *verdict) Helper() {}

func (v *verdict) Logf(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lines = append(v.lines, fmt.Sprintf(format, args...))
}

func (v *verdict) Errorf(format string, args ...any) {
	v.Logf(format, args...)
	v.mu.Lock()
	v.failed = true
	v.mu.Unlock()
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.Errorf(format, args...)
	runtime.Goexit()
}

// TestEveryCheckCanFail keeps the list of mutants complete.
func TestEveryCheckCanFail(t *testing.T) {
	excused := map[string]string{"Z04": "a goroutine that is left behind ends a bubble with a panic: see TestLeak"}
	found := map[string]bool{}
	for _, ids := range mutants() {
		for id := range strings.FieldsSeq(ids) {
			found[id] = true
		}
	}
	for _, c := range catalogue() {
		if excused[c.id] == "" && !found[c.id] {
			t.Errorf("%s is turned red by no mutant: add one", c.id)
		}
	}
}
