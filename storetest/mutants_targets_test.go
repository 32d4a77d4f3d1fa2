package storetest

// What a store may do wrong with targets and hints, and the checks that must say so.
const (
	targetsUnfenced    bug = "a superseded plan is written"
	epochIgnored       bug = "an older plan of the same planner is written"
	headsAsText        bug = "heads are compared as text"
	targetsHalfFenced  bug = "a superseded plan is not written, but deletes"
	equalHeadRefused   bug = "a second batch under one head is refused"
	targetsReplaced    bug = "a batch takes the place of all sets"
	goneStays          bug = "what is gone stays"
	goneTakesAll       bug = "whatever is gone takes all sets along"
	unknownIsEmpty     bug = "an unknown set reads as an empty one"
	emptySetDropped    bug = "an empty set is not stored"
	setsUnderNewest    bug = "sets are answered under the newest head"
	headInexact        bug = "heads lose their last digits"
	setKeysSorted      bug = "the keys of a set are sorted"
	setKeysCollated    bug = "the keys of a set are ordered as a language does"
	setKeysCut         bug = "a set is cut at 1000 keys"
	claimLosesHistory  bug = "a claim loses the history"
	claimLosesDigest   bug = "a claim loses the digest"
	historyCut         bug = "the history is cut at 64 KiB"
	historyAsText      bug = "the history is taken for text"
	historyToAll       bug = "every reader gets the history"
	targetsCapped      bug = "at most 500 sets are answered"
	targetsCollated    bug = "sets are ordered as a language does"
	targetsUnchecked   bug = "targets are not checked"
	targetsLateCheck   bug = "targets are checked by the server"
	targetsShare       bug = "targets share memory with the store"
	setIncarnationNow  bug = "a set gets the incarnation that it is written in"
	targetsGap         bug = "PutTargets reads the head, waits, and then writes"
	batchTorn          bug = "a batch is written set by set"
	writerDates        bug = "WrittenAt is what the writer says"
	restartForgetsPlan bug = "a restart silently forgets the targets"
	targetsNoContext   bug = "an ended context does not stop PutTargets"
	planUnhinted       bug = "a plan is not hinted"
	goneUnhinted       bug = "a plan that only deletes is not hinted"
	hintPerSet         bug = "every set of a plan is hinted"
	claimHinted        bug = "a claim is hinted"
	closeHints         bug = "closing a session that held nothing is hinted"
	releaseHints       bug = "releasing what is not held is hinted"
	overHints          bug = "closing or releasing what was over is hinted"
)

var targetMutants = map[bug]string{
	targetsUnfenced:    "A03 A06",
	epochIgnored:       "A03",
	headsAsText:        "A03",
	targetsHalfFenced:  "A03",
	equalHeadRefused:   "A04 C04 C07",
	targetsReplaced:    "A04",
	goneStays:          "A05 A04",
	goneTakesAll:       "A05 A04",
	unknownIsEmpty:     "A02",
	emptySetDropped:    "A02",
	setsUnderNewest:    "A01 A12",
	headInexact:        "A01",
	setKeysSorted:      "A10",
	setKeysCollated:    "A01",
	setKeysCut:         "A10",
	claimLosesHistory:  "A06 A07",
	claimLosesDigest:   "A06",
	historyCut:         "A07",
	historyAsText:      "A07",
	historyToAll:       "A07",
	targetsCapped:      "A08",
	targetsCollated:    "A08",
	targetsUnchecked:   "A09",
	targetsLateCheck:   "A09",
	targetsShare:       "A11",
	setIncarnationNow:  "A12",
	targetsGap:         "A13",
	batchTorn:          "A13",
	writerDates:        "A14",
	restartForgetsPlan: "A15",
	targetsNoContext:   "C01",
	planUnhinted:       "W06",
	goneUnhinted:       "W06",
	hintPerSet:         "W06",
	claimHinted:        "W06",
	closeHints:         "W07",
	releaseHints:       "W07",
	overHints:          "W07",
}
