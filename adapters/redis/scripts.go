package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one operation, put together from the files under lua. Each is one atomic step on the
// server, works on the keys it is given alone, and is safe to run twice.
type script struct {
	name  string
	plain text
	// roomy is the same script with leave to write although the server's memory is full: what keeps
	// the fleet going must not fail where taking on more does. Empty where no such leave is wanted.
	// Servers before 7.0 do not know such leaves and get the plain one.
	roomy text
	// once: the client must not send it again by itself. What it grants or extends must not happen
	// after its answer, as a first copy could that was lost with its connection and comes late.
	once bool
}

// text is a script's source and the hash under which the server keeps it.
type text struct{ source, hash string }

func newText(source string) text {
	sum := sha1.Sum([]byte(source)) // the server's own naming of scripts, not a matter of secrecy
	return text{source, hex.EncodeToString(sum[:])}
}

// allowOOM begins a script that may write although the server's memory is full.
const allowOOM = "#!lua flags=allow-oom\n"

func build(name string, roomy bool, parts ...string) *script {
	var b strings.Builder
	for _, part := range append(append([]string{"time"}, parts...), name) {
		source, err := sources.ReadFile("lua/" + part + ".lua")
		if err != nil {
			panic(err) // the files are compiled in: a misspelt name never gets past the first test
		}
		b.Write(source)
		b.WriteByte('\n')
	}
	s := &script{name: name, plain: newText(b.String())}
	if roomy {
		s.roomy = newText(allowOOM + b.String())
	}
	return s
}

func once(s *script) *script {
	s.once = true
	return s
}

// The operations. They are read-only after start.
var (
	granting = []string{"fingerprint", "thorough", "guard", "session", "record"}
	other    = []string{"fingerprint", "quick", "guard", "session", "record"}
	looking  = []string{"fingerprint", "looking", "guard", "session", "record"}

	openScript      = once(build("open", false, append(granting, "sweep")...))
	renewScript     = once(build("renew", true, other[:4]...))
	acquireScript   = once(build("acquire", false, append(granting, "sweep")...))
	verifyScript    = build("verify", true, granting...)
	releaseScript   = build("release", true, append(other, "hint")...)
	closeScript     = build("close", true, append(other, "hint")...)
	revokeScript    = build("revoke", false, append(looking, "hint")...)
	leasesScript    = build("leases", true, looking...)
	provisionScript = build("provision", false, "schema", "fingerprint")

	heartbeatScript = build("heartbeat", true, "schema", "hint", "membership")
	membersScript   = build("members", true, "schema", "hint", "membership")
	drainScript     = build("drain", true, "schema", "hint", "membership")
	leaveScript     = build("leave", true, "schema", "hint", "membership")

	putStatusScript   = build("putstatus", false, "schema", "statuses")
	getStatusesScript = build("getstatuses", false, "schema", "statuses")
	allStatusesScript = build("allstatuses", false, "schema", "statuses")

	putTargetsScript = build("puttargets", false, "schema", "hint", "targets")
	targetsOfScript  = build("targetsof", false, "schema", "targets")
	allTargetsScript = build("alltargets", false, "schema", "targets")

	infoScript = build("info", false)
)

// every lists the scripts, for tests that read them.
func every() []*script {
	return []*script{
		openScript, renewScript, acquireScript, verifyScript, releaseScript, closeScript, revokeScript, leasesScript,
		provisionScript, heartbeatScript, membersScript, drainScript, leaveScript, putStatusScript, getStatusesScript,
		allStatusesScript, putTargetsScript, targetsOfScript, allTargetsScript, infoScript,
	}
}
