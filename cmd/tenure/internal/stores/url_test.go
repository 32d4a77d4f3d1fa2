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
		"postgres://u@h:5/db?sslmode=disable&password=secret":          "postgres://u@h:5/db?sslmode=disable",
		"postgres://u:secret@h:5/db?sslmode=disable":                   "postgres://u:***@h:5/db?sslmode=disable",
		"postgres:///db?host=/var/run/postgresql":                      "postgres:///db?host=/var/run/postgresql",
		"postgres://h1,[::1]:5433/db":                                  "postgres://h1,[::1]:5433/db",
		"redis://h/0?pool_size=20&max_retries=-1&protocol=3":           "redis://h/0?pool_size=20&max_retries=-1&protocol=3",
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

// What an unescaped password turns a URL into must not be shown: some part of it is taken for a host, a port or a path.
func TestURLsThatHoldAPasswordWhereNoneIs(t *testing.T) {
	for _, url := range []string{
		"redis://u:secret", "redis://:secret", "redis://:secret#@h", "redis://secret@h", "redis://u:/secret@h", "redis://u:secret/x@h",
		"redis://u:secret?x@h", "redis://u:%secret@h", "redis+sentinel://u:secret/x@h/m", "redis+cluster://u:secret#x@h",
		"postgres://u:secret", "postgres://u:secret#@h/db", "postgres://u:secret/x@h/db", "postgres://u:secret?x@h/db", "postgres://u:`: secret@h:0/db",
		"redis://:x@k/secret@127.0.0.1:7712/0", "redis://u:12?secret@h/0", "redis://u:12?secret&@h/0", "postgres://u:pw@secret@h/db", "redis://u:pw@secret@h",
		"redis+sentinel://u:12/secret@h/m", "redis+cluster://u@secret/@h", "postgres://u:pw@h/secret@h/db", "postgres://u:1?secret=@h/db", "redis://:1/secret#@h",
		"postgres://u:secret@h/db?connect_timeout=x", "postgres://u:secret@h/db?sslmode=x", "postgres:///db?password=secret",
	} {
		h, err := Open(Config{URL: url, Fleet: "f"})
		if err == nil {
			h.Close()
			t.Errorf("%s is opened", url)
			continue
		}
		if !errors.Is(err, lease.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A long value is not repeated in whole.
func TestLongValuesAreCut(t *testing.T) {
	long := strings.Repeat("9", 3000)
	for _, url := range []string{
		"redis://h/" + long, "redis://h/a/" + long, "redis://h/1?db=" + long, "redis://h?pool_size=" + long, "redis://h?" + long + "=1", "redis://h:" + long, "redis://" + long + ":x",
		"redis://h?a" + long + "=", "redis://h?" + long + "=1&" + long + "=2", "redis://h?pool_fifo=" + long, "redis://h?read_timeout=-" + long + "s",
		"postgres://h/db?sslmode=" + long, "postgres://h/db?connect_timeout=" + long, "postgres://h:" + long,
		"redis://" + long, "redis+cluster://a," + long + ":1", "postgres://u@" + long,
	} {
		if _, err := Open(Config{URL: url, Fleet: "f"}); err == nil || len(err.Error()) > 300 {
			t.Errorf("%.40s...: %v", url, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, url := range []string{"redis://u:hunter2@h:1/3?a=b", "redis+sentinel://a,b/m", "redis+cluster://[::1]", "postgres://u:hunter2@h/db", "redis://%", "://",
		"redis://u:hunter2", "redis://:hunter2#@h", "redis://hunter2@h", "redis://u:hun/ter2@h?pool_size=-1", "postgres://u:hunter2#@h/`: x", "postgres:///?port=0"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		h, err := Open(Config{URL: url, Fleet: "f"})
		if err != nil {
			if !errors.Is(err, lease.ErrInvalid) {
				t.Errorf("%q: %v", url, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v is more than a line", url, err)
			}
			return
		}
		_ = h.Where()
		h.Close()
	})
}
