package stores

import (
	"maps"
	"net"
	"net/url"
	"strings"
)

// address is a URL that may name several hosts, taken apart.
type address struct {
	tls    bool
	user   *url.Userinfo
	hosts  []string // host:port
	path   []string // without empty parts
	params url.Values
}

// parse takes a Redis URL apart. Package url alone would refuse a list of hosts.
func parse(text, port string) (address, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	a := address{tls: strings.HasPrefix(scheme, "rediss")}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	at := strings.LastIndex(authority, "@") + 1
	u, err := url.Parse("x://" + authority[:at] + "host" + rest[end:])
	if err != nil {
		// The error of package url repeats the URL, which may hold a password.
		return a, invalid("--store: not a URL; escape what is special in user and password, such as %%40 for @")
	}
	a.user = u.User
	if a.params, err = url.ParseQuery(u.RawQuery); err != nil {
		return a, invalid("--store: the parameters behind the question mark cannot be read; write them as name=value&name=value")
	}
	for host := range strings.SplitSeq(authority[at:], ",") {
		h, p, err := hostPort(host, port)
		if err != nil {
			return a, err
		}
		a.hosts = append(a.hosts, net.JoinHostPort(h, p))
	}
	a.path = strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
	return a, nil
}

func hostPort(text, port string) (host, _ string, err error) {
	bare := strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]")
	if bare || !strings.Contains(text, ":") {
		text += ":" + port
	}
	host, port, err = net.SplitHostPort(text)
	if err != nil || host == "" || port == "" {
		return "", "", invalid("--store: host %q cannot be read; write host:port, or [address]:port for IPv6", text)
	}
	return host, port, nil
}

// base is the URL that the driver parses: its own scheme, one host, the rest as parameters.
func (a address) base(path string) *url.URL {
	u := &url.URL{Scheme: "redis", Host: a.hosts[0], Path: path}
	if a.tls {
		u.Scheme = "rediss"
	}
	q := maps.Clone(a.params)
	q["addr"] = a.hosts[1:]
	u.RawQuery = q.Encode()
	return u
}

// redacted is the URL without its password.
func redacted(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	if at := strings.LastIndex(host, "@"); at >= 0 {
		name, _, secret := strings.Cut(host[:at], ":")
		if secret {
			name += ":***"
		}
		host = name + host[at:]
	}
	path, query, _ := strings.Cut(rest[end:], "?")
	var kept []string
	for p := range strings.SplitSeq(query, "&") {
		if p != "" && !strings.Contains(strings.ToLower(p), "pass") {
			kept = append(kept, p)
		}
	}
	if len(kept) > 0 {
		path += "?" + strings.Join(kept, "&")
	}
	return scheme + "://" + host + path
}
