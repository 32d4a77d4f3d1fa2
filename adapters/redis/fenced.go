package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/lease"
)

// FenceLua begins a script of one's own whose writes a former owner must not make. It compares the token of the
// writer's term with the highest that the fence has seen. An older one ends the script before anything was
// written, with the error "FENCED <highest>"; a newer one is remembered.
//
// It takes KEYS[1], the fence, and ARGV[1], the token in decimal, away: what follows sees its own keys and
// arguments from 1 on, as if it stood alone. [NewFenced] puts it before a script, and Run adds both.
//
// The fence is a string key of your choice, one for each lease key and Redis that is written to. It must live as long as the data, so it gets
// no expiry, and must not be evicted (maxmemory-policy noeviction or volatile-*). In a cluster it shares a hash tag with the
// other keys of the script. It does not matter which store the leases are in.
const FenceLua = `do
  local token, seen = ARGV[1], redis.call('GET', KEYS[1])
  if not string.match(token or '', '^[1-9]%d*$') then
    return redis.error_reply('ERR the fencing token must be a decimal number above 0')
  end
  if seen and not string.match(seen, '^[1-9]%d*$') then
    return redis.error_reply('ERR the fence holds no token: ' .. KEYS[1])
  end
  -- Tokens are compared as text: Lua's numbers are not exact above 2^53.
  if seen and (#seen > #token or (#seen == #token and seen > token)) then
    return redis.error_reply('FENCED ' .. seen)
  end
  if seen ~= token then redis.call('SET', KEYS[1], token) end
end
local KEYS, ARGV = {unpack(KEYS, 2)}, {unpack(ARGV, 2)}
`

// ErrWriteFenced means that the writer's term is over, and another owner has written since. Nothing was written. Stop: no
// later try with this token can succeed. The error is a *WriteFencedError.
var ErrWriteFenced = errors.New("redisstore: write fenced: a newer owner has written")

// WriteFencedError says whose write was refused. It matches ErrWriteFenced.
type WriteFencedError struct {
	// Fence is the fence's key, Lease the writer's.
	Fence string
	Lease lease.Lease
	// Highest is the highest token that the fence has seen, in decimal.
	Highest string
}

// Error names the fence, the key and both tokens.
func (e *WriteFencedError) Error() string {
	return fmt.Sprintf("%v: fence %q, lease %q token %d, %s was seen", ErrWriteFenced, e.Fence, e.Lease.Key, e.Lease.Token, e.Highest)
}

// Is makes errors.Is(err, ErrWriteFenced) hold.
func (e *WriteFencedError) Is(target error) bool { return target == ErrWriteFenced }

// Fenced is a script whose writes carry a token. It is safe for concurrent use; make it once.
type Fenced struct{ script *redis.Script }

// NewFenced puts FenceLua before a script. It does no I/O: what is wrong with the script shows when it is run.
func NewFenced(script string) *Fenced { return &Fenced{redis.NewScript(FenceLua + script)} }

// Run runs the script where the lease's token is not older than any that the fence has seen, in one atomic step.
// The script sees keys as KEYS and args as ARGV. The client may be any, and need not be the store's.
//
// A *WriteFencedError (matches ErrWriteFenced): nothing was done, stop. Errors that match lease.ErrInvalid: nothing was
// sent. Other errors are the driver's; as with any script, a lost reply leaves the outcome unknown.
//
// A former owner is refused only once the new one has been here. A new owner that reads before it writes
// runs a first script, which may be empty, to raise the fence: then what it reads stays true.
func (f *Fenced) Run(ctx context.Context, c redis.Scripter, fence string, l lease.Lease, keys []string, args ...any) (any, error) {
	if fence == "" {
		return nil, invalid("fence", fence, "must be the name of a key")
	}
	if l.Token == 0 {
		return nil, invalid("lease", "without a token", "pass the lease of a term: term.Lease()")
	}
	all := append([]string{fence}, keys...)
	v, err := f.script.Run(ctx, c, all, append([]any{strconv.FormatUint(l.Token, 10)}, args...)...).Result()
	if highest, ok := fencedBy(err); ok {
		return nil, &WriteFencedError{Fence: fence, Lease: l, Highest: highest}
	}
	return v, err
}

// fencedBy returns the token that an error of FenceLua names. Servers before 7.0 wrap errors of scripts.
func fencedBy(err error) (string, bool) {
	if _, answered := errors.AsType[redis.Error](err); !answered {
		return "", false
	}
	highest, ok := strings.CutPrefix(err.Error(), "FENCED ")
	highest, _, _ = strings.Cut(highest, " ")
	return highest, ok && highest != ""
}
