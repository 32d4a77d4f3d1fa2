package stores

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/lease"
)

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"redis://h":                          "redis://h",
		"redis://u:se%40cret@h:1/3":          "redis://u:***@h:1/3",
		"rediss://:secret@h?read_timeout=3s": "rediss://:***@h?read_timeout=3s",
		"redis+sentinel://u:secret@a,b:5/m/2?sentinel_password=secret": "redis+sentinel://u:***@a,b:5/m/2",
		"redis+cluster://a:1,[::1]:2,c":                                "redis+cluster://a:1,[::1]:2,c",
		"postgres://u:secret@h:5/db?sslmode=disable&password=secret":   "postgres://u:***@h:5/db?sslmode=disable",
	} {
		h, err := Open(Config{URL: url, Fleet: "f"})
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if h.Where() != want {
			t.Errorf("%s is shown as %s, expected %s", url, h.Where(), want)
		}
		h.Close()
	}
}

func TestURLsReachTheDriver(t *testing.T) {
	client := func(url string) redis.UniversalClient {
		h, err := Open(Config{URL: url, Fleet: "f"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		return h.(*redisHandle).client
	}
	o := client("rediss://u:se%40cret@h:1/3?read_timeout=3s").(*redis.Client).Options()
	if o.Addr != "h:1" || o.DB != 3 || o.Username != "u" || o.Password != "se@cret" || o.TLSConfig == nil || o.ReadTimeout.String() != "3s" || !o.ContextTimeoutEnabled {
		t.Errorf("%+v", o)
	}
	c := client("redis+cluster://u:secret@a:1,b").(*redis.ClusterClient).Options()
	if strings.Join(c.Addrs, " ") != "a:1 b:6379" || c.Password != "secret" || c.TLSConfig != nil {
		t.Errorf("%+v", c)
	}
	s := client("redis+sentinel://u:secret@a,b/m/2").(*redis.Client).Options()
	if s.Addr != "FailoverClient" || s.DB != 2 || s.Username != "u" || s.Password != "secret" {
		t.Errorf("%+v", s)
	}
}

func FuzzOpen(f *testing.F) {
	for _, url := range []string{"redis://u:hunter2@h:1/3?a=b", "redis+sentinel://a,b/m", "redis+cluster://[::1]", "postgres://u:hunter2@h/db", "redis://%", "://"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		h, err := Open(Config{URL: url, Fleet: "f"})
		if err != nil {
			if !errors.Is(err, lease.ErrInvalid) {
				t.Errorf("%q: %v", url, err)
			}
			return
		}
		_ = h.Where()
		h.Close()
	})
}
