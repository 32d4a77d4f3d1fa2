package redistest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// Virtual is an in-process server without any network, for virtual time. Beyond what miniredis offers it
// has a clock that can be stepped, says in INFO which life of which server it is, and can lose its data.
type Virtual struct {
	*miniredis.Miniredis
	tb testing.TB

	mu     sync.Mutex
	offset time.Duration
	life   int
	mute   bool // INFO is not allowed
}

// StartVirtual starts a server that ends with the test.
func StartVirtual(tb testing.TB) *Virtual {
	tb.Helper()
	v := &Virtual{Miniredis: miniredis.NewMiniRedis(), tb: tb, life: 1}
	v.ClockTTL(true)
	tb.Cleanup(v.Close)
	c, err := v.Dial() // starts it, so that it can be hooked
	if err != nil {
		tb.Fatal(err)
	}
	c.Close()
	v.Server().SetPreHook(v.answer)
	return v
}

// Options are a client's options for the server. Retries are off, so that a test sees each outcome.
func (v *Virtual) Options() *redis.Options {
	o := Options("127.0.0.1:1") // never dialled
	o.Dialer = func(context.Context, string, string) (net.Conn, error) {
		c, err := v.Dial()
		if err != nil {
			return nil, err
		}
		return buffer(c), nil
	}
	return o
}

// Client returns a client for the server that is closed when the test ends.
func (v *Virtual) Client() *redis.Client { return Client(v.tb, v.Options()) }

// answer is what miniredis lacks or does otherwise.
func (v *Virtual) answer(c *server.Peer, cmd string, args ...string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case cmd == "TIME":
		now := time.Now().Add(v.offset).UnixMicro()
		c.WriteLen(2)
		c.WriteBulk(strconv.FormatInt(now/1e6, 10))
		c.WriteBulk(strconv.FormatInt(now%1e6, 10))
	case cmd == "INFO" && v.mute:
		c.WriteError("NOPERM this user has no permissions to run the 'info' command")
	case cmd == "INFO" && len(args) == 1 && strings.EqualFold(args[0], "server"):
		c.WriteBulk(fmt.Sprintf("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%040x\r\n", v.life))
	case cmd == "INFO" && len(args) == 1 && strings.EqualFold(args[0], "replication"):
		c.WriteBulk(fmt.Sprintf("# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:%040x\r\n", v.life))
	default:
		return false
	}
	return true
}

// Step moves the server's clock by d from where it is.
func (v *Virtual) Step(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.offset += d
}

// HideInfo makes INFO fail as for a user who may not call it; ShowInfo allows it again.
func (v *Virtual) HideInfo() { v.setMute(true) }

// ShowInfo ends HideInfo.
func (v *Virtual) ShowInfo() { v.setMute(false) }

func (v *Virtual) setMute(on bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mute = on
}

// Restart begins another life of the server, with the data as it is.
func (v *Virtual) Restart() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.life++
}

// Snapshot copies all data. The function that it returns restarts the server with the copy.
func (v *Virtual) Snapshot() (restore func()) {
	hashes, texts, scores := map[string]map[string]string{}, map[string]string{}, map[string]map[string]float64{}
	for _, key := range v.Keys() {
		switch v.Type(key) {
		case "hash":
			fields, _ := v.HKeys(key)
			hashes[key] = map[string]string{}
			for _, f := range fields {
				hashes[key][f] = v.HGet(key, f)
			}
		case "string":
			texts[key], _ = v.Get(key)
		case "zset":
			set, _ := v.SortedSet(key)
			scores[key] = maps.Clone(set)
		}
	}
	return func() {
		v.FlushAll()
		for key, fields := range hashes {
			for f, value := range fields {
				v.HSet(key, f, value)
			}
		}
		for key, text := range texts {
			_ = v.Set(key, text)
		}
		for key, set := range scores {
			for member, score := range set {
				_, _ = v.ZAdd(key, score, member)
			}
		}
		v.Restart()
	}
}
