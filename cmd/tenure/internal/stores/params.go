package stores

import (
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
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
			return invalid("--store: parameter %s would be ignored; write all hosts before the path, as in redis+cluster://host1,host2", shown(name))
		case "context_timeout_enabled", "dialer_retries":
			return invalid("--store: parameter %s would be ignored, since calls end with their leases; leave it out", shown(name))
		}
		if value == "" {
			return invalid("--store: parameter %s is empty; give it a value, or leave it out", shown(name))
		}
		if b, ok := numbers()[name]; ok {
			if n, err := strconv.Atoi(value); err != nil || n < b.least || n > b.most {
				return invalid("--store: parameter %s=%s: must be a whole number between %d and %d", name, shown(value), b.least, b.most)
			}
		}
		if err := checkTime(name, value); err != nil {
			return err
		}
	}
	return nil
}

// checkTime refuses a time below zero, which the driver takes for none at all; -1 is its documented way to say so. A
// connection that may take no time is never made.
func checkTime(name, value string) error {
	if !slices.Contains([]string{
		"dial_timeout", "read_timeout", "write_timeout", "pool_timeout", "min_retry_backoff", "max_retry_backoff", "idle_timeout", "conn_max_idle_time",
		"max_conn_age", "conn_max_lifetime", "conn_max_lifetime_jitter", "route_by_latency_tolerance",
	}, name) {
		return nil
	}
	d, unread := time.ParseDuration(value)
	if n, err := strconv.Atoi(value); err == nil {
		d, unread = time.Duration(n), nil
	}
	switch {
	case name == "dial_timeout" && d <= 0 && unread == nil: // what cannot be read the driver tells
		return invalid("--store: parameter %s=%s: must be above 0, such as 500ms or 2s", name, shown(value))
	case d < 0 && value != "-1":
		return invalid("--store: parameter %s=%s: must be a time such as 500ms or 2s, or -1 for none", name, shown(value))
	}
	return nil
}

// checkDatabase looks at the number of the database, in the path or behind the question mark.
func (a address) checkDatabase(path []string) error {
	text := a.params.Get("db")
	switch {
	case len(path) > 1:
		return invalid("--store: path %s: must be one database number, as in redis://127.0.0.1:6379/0", shown("/"+strings.Join(path, "/")))
	case len(path) == 1 && text != "":
		return invalid("--store: the database is given twice, as %s and as db=%s; give it once, as in redis://127.0.0.1:6379/0", shown("/"+path[0]), shown(text))
	case len(path) == 1:
		text = path[0]
	case text == "":
		return nil
	}
	if n, err := strconv.Atoi(text); err != nil || !digits(text) || n > math.MaxInt32 {
		return invalid("--store: database %s: must be a number from 0 up, as in redis://127.0.0.1:6379/0", shown(text))
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
				return invalid("--store: parameter %s=%s: %s", name, shown(params.Get(name)), example)
			}
		}
	}
	text = strings.Join(strings.Fields(text), " ") // it may repeat a parameter's name
	if len(text) > 2*mostShown {
		text = strings.ToValidUTF8(text[:2*mostShown], "") + "..."
	}
	return invalid("--store: %s; write it as redis://user:password@host:6379/0", text)
}
