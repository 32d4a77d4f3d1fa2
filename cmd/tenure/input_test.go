package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// counter is a store that nobody may talk to: it counts who does.
func counter(t *testing.T) (url string, calls *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	calls = &atomic.Int64{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			c.Close()
		}
	}()
	return "redis://" + l.Addr().String(), calls
}

// Every bad input is one line that names the problem and the remedy, with status 2, before anything is done.
func TestBadInput(t *testing.T) {
	t.Parallel()
	url, calls := counter(t)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/does/not/exist -x\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string   // split at spaces; URL stands for the store
		want []string // what the line contains
	}{
		{"nonsense", []string{`unknown command "nonsense"`, "tenure help"}},
		{"--nonsense", []string{"--nonsense", "--help"}},
		{"status --nonsense", []string{"--nonsense", "tenure status --help"}},
		{"status", []string{"--store is missing", "TENURE_STORE"}},
		{"status --store mysql://h", []string{"redis://", "postgres://"}},
		{"status --store localhost:6379", []string{"redis://"}},
		{"status --store redis://u:secret@h:port:x", []string{"host", "host:port"}},
		{"status --store redis://u:sec%ret@h", []string{"not a URL", "%40"}},
		{"status --store redis://h/nodb", []string{"database", "redis://"}},
		{"status --store redis://h?nonsense=1", []string{"nonsense"}},
		{"status --store redis://a,b", []string{"one host", "redis+cluster://"}},
		{"status --store redis+sentinel://a,b", []string{"master", "mymaster"}},
		{"status --store redis+sentinel://a/m?replica_only=true", []string{"replica_only"}},
		{"status --store redis+cluster://a,b/1", []string{"one database", "without a path"}},
		{"status --store redis+cluster://a?read_only=true", []string{"ReadOnly", "replicas"}},
		{"status --store redis://h/-1", []string{`database "-1"`, "from 0"}},
		{"status --store redis://h/+1", []string{`database "+1"`, "from 0"}},
		{"status --store redis://h/0/1", []string{`path "/0/1"`, "one database"}},
		{"status --store redis://h/1?db=2", []string{`"/1"`, `db="2"`, "give it once"}},
		{"status --store redis://h?db=x", []string{`database "x"`, "redis://"}},
		{"status --store redis+sentinel://a/m/-1", []string{`database "-1"`}},
		{"status --store redis+sentinel://a/m?password=secret", []string{`"password"`, "user:password@"}},
		{"status --store redis://h:99999", []string{"port 99999", "65535"}},
		{"status --store redis://h:0", []string{"port 0", "65535"}},
		{"status --store redis+cluster://a:1,b:70000", []string{"port 70000", `"b"`}},
		{"status --store redis://h:http", []string{"port", `"h"`, "host:port"}},
		{"status --store redis://u:secret", []string{"port", "host:port"}},
		{"status --store redis://:secret", []string{"host:port", "password@"}},
		{"status --store redis://secret@h", []string{"without a password", ":password@host"}},
		{"status --store redis://u:sec/ret@h", []string{"escape", "%2F"}},
		{"status --store redis://u:sec#ret@h", []string{"escape", "%23"}},
		{"status --store redis://u:sec?ret@h", []string{"escape"}},
		{"status --store redis://h/0#1", []string{"#", "%23"}},
		{"status --store redis://h?db=1&db=2", []string{`"db"`, "2 times", "once"}},
		{"status --store redis://h?addr=a:1", []string{`"addr"`, "host1,host2"}},
		{"status --store redis+cluster://h?dialer_retries=3", []string{`"dialer_retries"`, "leave it out"}},
		{"status --store redis://h?read_timeout=", []string{`"read_timeout"`, "empty"}},
		{"status --store redis://h?read_timeout=5x", []string{`read_timeout="5x"`, "500ms"}},
		{"status --store redis://h?pool_fifo=maybe", []string{`pool_fifo="maybe"`, "true or false"}},
		{"status --store redis://h?pool_size=x", []string{`pool_size="x"`, "whole number"}},
		{"status --store redis://h?pool_size=-5", []string{`pool_size="-5"`, "between 1"}},
		{"status --store redis://h?protocol=9", []string{`protocol="9"`, "between 2 and 3"}},
		{"status --store postgres://u:secret@h:x/db", []string{"port", "host:port"}},
		{"status --store postgres://h:0/db", []string{"port 0", "65535"}},
		{"status --store postgres://h:99999/db", []string{"port 99999", "65535"}},
		{"status --store postgres://h/db?port=0", []string{"invalid port", "postgres://user:password@host"}},
		{"status --store postgres://", []string{"host is missing", "postgres://user:password@host", "?host=/path"}},
		{"status --store postgres:///db", []string{"host is missing", "?host=/path"}},
		{"status --store postgres://u:secret@/db", []string{"host is missing"}},
		{"status --store postgres://h,/db", []string{"host is missing"}},
		{"status --store postgres://h/db?connect_timeout=x", []string{"connect_timeout", "postgres://user:password@host"}},
		{"status --store postgres://u:sec#ret@h/db", []string{"escape", "%23"}},
		{"status --store redis://:se@k/ret@127.0.0.1:7712/0", []string{"# or @ where none can be", "%2F"}},
		{"status --store redis://us:12?34@host/0", []string{"# or @ where none can be", "%3F"}},
		{"status --store postgres://postgres:pw1@se@127.0.0.1:7720/postgres", []string{"# or @ where none can be", "%40"}},
		{"status --store postgres://u@h:1/db?host=g", []string{"the host is given twice", "host="}},
		{"status --store postgres://u@h:1/db?port=2", []string{"the port is given twice", "port="}},
		{"status --store postgres://[::1]:1/db?port=2", []string{"the port is given twice", "port="}},
		{"status --store postgres://h/db?dbname=other", []string{"the database is given twice", "dbname="}},
		{"status --store postgres://h/db?database=other", []string{"the database is given twice", "database="}},
		{"status --store postgres://h?dbname=a&database=b", []string{"the database is given twice"}},
		{"status --store postgres://u@h/db?user=v", []string{"the user is given twice", "user="}},
		{"status --store postgres://u:secret@h/db?password=secret2", []string{"the password is given twice"}},
		{"status --store postgres://h/db?sslmode=bogus", []string{`sslmode="bogus"`, "verify-full"}},
		{"status --store redis://h?read_timeout=-5s", []string{`read_timeout="-5s"`, "-1 for none"}},
		{"status --store redis://h?write_timeout=-2", []string{`write_timeout="-2"`, "-1 for none"}},
		{"status --store redis://h?dial_timeout=-1", []string{`dial_timeout="-1"`, "above 0"}},
		{"status --store redis://\xff\xfe:7711/0", []string{"UTF-8", "escape"}},
		{"status --store redis://a\tb", []string{"host", "host:port"}},
		{"status --store postgres://h/db --prefix p", []string{"--prefix", "--schema"}},
		{"status --store URL --schema s", []string{"--schema", "--prefix"}},
		{"status --store URL --fleet=", []string{"--fleet", "default"}},
		{"status --store URL --prefix=", []string{`--prefix ""`, "leave it out"}},
		{"--prefix= status --store URL", []string{`--prefix ""`, "leave it out"}},
		{"migrate --store postgres://h/db --schema=", []string{`--schema ""`, "leave it out"}},
		{"migrate --print --schema=", []string{`--schema ""`, "leave it out"}},
		{"drain --url http://127.0.0.1:1/ --token-file=", []string{`--token-file ""`, "leave it out"}},
		{"verify --store URL --run=", []string{`--run ""`, "leave it out"}},
		{"status --store URL --max-ttl 0s", []string{"--max-ttl", "24h"}},
		{"status --store URL --max-ttl 25h", []string{"--max-ttl", "24h"}},
		{"status --store URL --max-ttl soon", []string{`--max-ttl "soon"`, "10s", "--help"}},
		{"status --store URL --watch=maybe", []string{`--watch "maybe"`, "true or false"}},
		{"status --store", []string{"--store", "a value"}},
		{"verify --store URL --lanes x", []string{`--lanes "x"`, "whole number"}},
		{"verify --store URL --seed -1", []string{`--seed "-1"`, "from 0 up"}},
		{"run --store URL --key k --max-ttl=-1s -- true", []string{"--max-ttl -1s", "24h"}},
		{"help bogus", []string{`unknown command "bogus"`, "tenure help"}},
		{"help status bogus", []string{"status bogus", "tenure help"}},
		{"help guardian", []string{"guardian", "tenure help"}},
		{"completion", []string{"bash", "zsh", "fish", "powershell", `"tenure completion bash"`}},
		{"status --store URL extra", []string{`"extra"`, "takes none"}},
		{"status --store URL --timeout 0s", []string{"--timeout", "above 0"}},
		{"status --store URL --interval 2s", []string{"--interval", "--watch"}},
		{"status --store URL --watch --interval 1ms", []string{"--interval", "100ms"}},
		{"who --store URL", []string{"KEY is missing", "who KEY"}},
		{"who --store URL a b", []string{`"b"`, "one KEY"}},
		{"who --store URL --timeout -1s k", []string{"--timeout", "above 0"}},
		{"who --store URL bad\x00key", []string{"key", "NUL"}},
		{"drain --store URL", []string{"--instance", "--url"}},
		{"drain --store URL --instance i --url http://h/", []string{"--instance and --url", "one of them"}},
		{"drain --store URL --instance i --token-file f", []string{"--token-file", "--url"}},
		{"drain --url h/drain", []string{"--url", "http://"}},
		{"drain --url http://127.0.0.1:1/ --token-file /does/not/exist", []string{"--token-file", "can be read"}},
		{"drain --url http://127.0.0.1:1/ --token-file EMPTY", []string{"--token-file", "empty"}},
		{"drain --url http://127.0.0.1:1/ --timeout 0s", []string{"--timeout", "above 0"}},
		{"revoke --store URL", []string{"KEY is missing"}},
		{"revoke --store URL k", []string{"asks first", "--yes"}},
		{"provision --store URL extra", []string{`"extra"`}},
		{"provision --store URL --timeout 0s", []string{"--timeout"}},
		{"migrate --store URL", []string{"PostgreSQL", "provision"}},
		{"migrate --print --schema pg_mine", []string{"pg_", "another name"}},
		{"verify --store URL --run (", []string{"--run", "^O"}},
		{"verify --store URL --run a/b", []string{"--run", "slash"}},
		{"verify --store URL --unit 1ms", []string{"--unit", "10ms"}},
		{"verify --store URL --lanes 0", []string{"--lanes", "64"}},
		{"verify --store URL --timeout 0s", []string{"--timeout"}},
		{"check --store URL --clock 2m", []string{"--clock", "1m"}},
		{"check --store URL --timeout 0s", []string{"--timeout"}},
		{"healthcheck", []string{"URL is missing"}},
		{"healthcheck 127.0.0.1:80", []string{"URL", "http://", `"127.0.0.1:80"`}},
		{"healthcheck http://h:99999/", []string{"URL", "port 99999", "65535"}},
		{"healthcheck http://u:sec%ret@h/", []string{"URL", "http://127.0.0.1:8080/path"}},
		{"drain --url http://h:0/", []string{"--url", "port 0", "65535"}},
		{"healthcheck http://127.0.0.1:1/ --timeout 0s", []string{"--timeout"}},
		{"version extra", []string{`"extra"`}},
		{"completion tcsh", []string{"tcsh", "--help"}},
		{"guardian", []string{"tenure run"}},
		{"suite", []string{"tenure verify"}},
		{"run --store URL --key k", []string{"behind --"}},
		{"run --store URL --key k true", []string{"behind --"}},
		{"run --store URL --key k --", []string{"nothing follows --"}},
		{"run --store URL --key k --restart on-failure -- true", []string{`"on-failure"`, "--flag=value"}},
		{"run --store URL -- true", []string{"--key is missing"}},
		{"run --store URL --key tenure:x -- true", []string{"reserved", "another name"}},
		{"run --store URL --key k --name bad\x00name -- true", []string{"--name", "UTF-8"}},
		{"run --store URL --key k --ttl 0s -- true", []string{"--ttl", "above 0"}},
		{"run --store URL --key k --ttl 1ms -- true", []string{"--ttl", "10ms"}},
		{"run --store URL --key k --ttl 1h -- true", []string{"--ttl", "--max-ttl"}},
		{"run --store URL --key k --margin 0s -- true", []string{"--margin", "above 0"}},
		{"run --store URL --key k --margin 9s -- true", []string{"--ttl", "--margin"}},
		{"run --store URL --key k --grace 8s -- true", []string{"--grace", "less than"}},
		{"run --store URL --key k --grace -1s -- true", []string{"--grace"}},
		{"run --store URL --key k --drain-timeout 0s -- true", []string{"--drain-timeout", "above 0"}},
		{"run --store URL --key k --drain-signal NONSENSE -- true", []string{"NONSENSE", "TERM"}},
		{"run --store URL --key k --drain-signal 999 -- true", []string{"999", "TERM"}},
		{"run --store URL --key k --drain-signal KILL -- true", []string{`--drain-signal "KILL"`, "TERM"}},
		{"run --store URL --key k --drain-signal SIGSTOP -- true", []string{`--drain-signal "SIGSTOP"`, "TERM"}},
		{"run --store URL --key k --drain-signal 9 -- true", []string{`--drain-signal "9"`, "TERM"}},
		{"run --store URL --key k --restart=sometimes -- true", []string{"--restart", "on-failure"}},
		{"run --store URL --key k --once --restart -- true", []string{"--once and --restart", "one of them"}},
		{"run --store URL --key k --wait --no-wait -- true", []string{"--wait and --no-wait", "one of them"}},
		{"run --store URL --key k --wait=false --no-wait=false -- true", []string{"--wait and --no-wait", "one of them"}},
		{"run --store URL --key k -- SCRIPT", []string{"/does/not/exist", "first line"}},
		{"run --store URL --key k -- /", []string{`command "/"`, "is a directory"}},
		{"run --store URL --key k -- does-not-exist", []string{"does-not-exist", "PATH"}},
		{"run --store URL --key k -- /etc/passwd", []string{"/etc/passwd", "permission"}},
		{"run --store mysql://h --key k -- true", []string{"postgres://"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			var args []string
			for a := range strings.SplitSeq(c.args, " ") {
				switch a {
				case "URL":
					a = url
				case "EMPTY":
					a = empty
				case "SCRIPT":
					a = script
				}
				args = append(args, a)
			}
			var status int
			var out, said string
			if args[0] == "guardian" || args[0] == "suite" {
				p := start(t, "", nil, args...)
				status, out, said = p.wait(), p.out.String(), p.err.String()
			} else {
				status, out, said = command(args...)
			}
			if status != 2 {
				t.Errorf("status %d, expected 2", status)
			}
			if strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "tenure: ") || out != "" {
				t.Errorf("expected one line on standard error: %q, %q", said, out)
			}
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q does not say %q", said, want)
				}
			}
			if strings.Contains(said, "secret") || strings.Contains(said, "sec%ret") || strings.Contains(said, "strconv") || strings.Contains(said, "time: ") {
				t.Errorf("%q tells the password, or speaks in the words of a package", said)
			}
		})
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("the store was spoken to %d times", n)
	}
}

// Every command says how it exits, and has its global flags.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "run", "status", "who", "drain", "revoke", "provision", "migrate", "verify", "check", "healthcheck", "version"} {
		out := must(t, strings.Fields(name+" --help")...)
		for _, want := range []string{"Exit status", "--json", "--store"} {
			if !strings.Contains(out, want) {
				t.Errorf("tenure %s --help does not mention %q", name, want)
			}
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := must(t, "completion", shell); !strings.Contains(out, "tenure") {
			t.Errorf("completion for %s: %q", shell, out)
		}
	}
}
