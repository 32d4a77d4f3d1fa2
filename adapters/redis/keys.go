package redisstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// keyset names everything that a fleet keeps in Redis. All keys share one hash tag, so that they
// live in one slot of a cluster and one script may use them together.
type keyset struct {
	marker, sessions, leases    string // the lease contract
	members, lives, generations string // the registry contract
	statuses, owners            string // the status contract
	targets                     string // the plan
	channel                     string // hints
}

func newKeyset(prefix, fleet string) keyset {
	tag := "{" + encode(prefix, "") + ":" + encode(fleet, ":") + "}:"
	return keyset{
		marker: tag + "marker", sessions: tag + "sessions", leases: tag + "leases",
		members: tag + "members", lives: tag + "lives", generations: tag + "generation",
		statuses: tag + "statuses", owners: tag + "owners",
		targets: tag + "targets",
		channel: tag + "hints",
	}
}

// maxName is the longest name that is written out; a longer one is replaced by its hash.
const maxName = 128

// encode escapes what would break the hash tag, confuse a terminal, or make two pairs of prefix
// and fleet read alike. Different names have different codes.
func encode(name, also string) string {
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(name))
		return "%sha256-" + hex.EncodeToString(sum[:]) // no escape begins with "%s"
	}
	var b strings.Builder
	for _, c := range []byte(name) {
		if c < 0x20 || c == 0x7f || strings.IndexByte("%{}"+also, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func (k keyset) forLeases() []string   { return []string{k.marker, k.sessions, k.leases} }
func (k keyset) forMembers() []string  { return []string{k.marker, k.members, k.lives, k.generations} }
func (k keyset) forStatuses() []string { return []string{k.marker, k.statuses, k.owners} }
func (k keyset) forTargets() []string  { return []string{k.marker, k.targets} }
