package stores

import (
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// bounds are what a number behind the question mark may be: the driver ignores or dies of others.
type bounds struct{ least, most int }

func numbers() map[string]bounds {
	connections, buffer := bounds{0, 100_000}, bounds{0, 1 << 26}
	return map[string]bounds{
		"protocol": {2, 3}, "max_retries": {-1, 1000}, "max_redirects": {-1, 1000}, "failing_timeout_seconds": {0, 3600},
		"pool_size": {1, connections.most}, "min_idle_conns": connections, "max_idle_conns": connections, "max_active_conns": connections,
		"max_concurrent_dials": connections, "pipeline_pool_size": {-1, connections.most},
		"pipeline_read_buffer_size": buffer, "pipeline_write_buffer_size": buffer,
	}
}

// checkParams refuses what the Redis driver would ignore without a word.
func (a address) checkParams() error {
	for name, values := range a.params {
		value := values[0]
		switch name {
		case "addr":
			return invalid("--store: parameter %q would be ignored; write all hosts before the path, as in redis+cluster://host1,host2", name)
		case "context_timeout_enabled", "dialer_retries":
			return invalid("--store: parameter %q would be ignored, since calls end with their leases; leave it out", name)
		}
		if value == "" {
			return invalid("--store: parameter %q is empty; give it a value, or leave it out", name)
		}
		if b, ok := numbers()[name]; ok {
			if n, err := strconv.Atoi(value); err != nil || n < b.least || n > b.most {
				return invalid("--store: parameter %s=%q: must be a whole number between %d and %d", name, value, b.least, b.most)
			}
		}
	}
	return nil
}

// checkDatabase looks at the number of the database, in the path or behind the question mark.
func (a address) checkDatabase(path []string) error {
	text := a.params.Get("db")
	switch {
	case len(path) > 1:
		return invalid("--store: path %q: must be one database number, as in redis://127.0.0.1:6379/0", "/"+strings.Join(path, "/"))
	case len(path) == 1 && text != "":
		return invalid("--store: the database is given twice, as %q and as db=%q; give it once, as in redis://127.0.0.1:6379/0", "/"+path[0], text)
	case len(path) == 1:
		text = path[0]
	case text == "":
		return nil
	}
	if n, err := strconv.Atoi(text); err != nil || !digits(text) || n > math.MaxInt32 {
		return invalid("--store: database %q: must be a number from 0 up, as in redis://127.0.0.1:6379/0", text)
	}
	return nil
}

// unparsed is the driver's complaint about a URL, without what might be a password in it.
func unparsed(err error, params url.Values) error {
	text := strings.TrimPrefix(err.Error(), "redis: ")
	if _, ok := errors.AsType[*url.Error](err); ok {
		text = "not a URL"
	}
	if complaint, ok := strings.CutPrefix(text, "invalid "); ok { // invalid read_timeout duration: ..., in the words of package time
		if name, kind, ok := strings.Cut(complaint, " "); ok && params.Has(name) {
			examples := map[string]string{"duration": "must be a time such as 500ms or 2s", "boolean": "must be true or false", "number": "must be a whole number"}
			kind, _, _ = strings.Cut(kind, ":")
			if example := examples[kind]; example != "" {
				return invalid("--store: parameter %s=%q: %s", name, params.Get(name), example)
			}
		}
	}
	return invalid("--store: %s; write it as redis://user:password@host:6379/0", strings.Join(strings.Fields(text), " "))
}
