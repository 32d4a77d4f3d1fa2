package stores

import (
	"maps"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
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
	a, hosts, err := split(text)
	if err != nil {
		return a, err
	}
	if a.user != nil {
		// The driver sends neither then. The name is not shown: it may be a password that lacks its colon.
		if password, _ := a.user.Password(); password == "" && a.user.Username() != "" {
			return a, invalid("--store: a user without a password would not be sent; write user:password@host, or :password@host for the default user")
		}
	}
	for _, host := range hosts {
		h, p, err := hostPort(host, port)
		if err != nil {
			return a, err
		}
		a.hosts = append(a.hosts, net.JoinHostPort(h, p))
	}
	return a, a.checkParams()
}

// split takes a URL of any scheme apart, and leaves its hosts as they are.
func split(text string) (a address, hosts []string, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	a.tls = strings.HasPrefix(scheme, "rediss")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	// What stands before an unescaped / ? # or @ of a password would be taken for the host, and what follows for the rest.
	if strings.Contains(rest, "#") || strings.Contains(rest[end:], "@") || strings.Count(authority, "@") > 1 {
		return a, nil, invalid("--store: a # or @ where none can be; escape what is special in user and password: %%23 for #, %%2F for /, %%3F for ?, %%40 for @")
	}
	if !utf8.ValidString(text) {
		return a, nil, invalid("--store: not a URL: it is no valid UTF-8; escape such bytes, as in %%FF")
	}
	at := strings.LastIndex(authority, "@") + 1
	u, err := url.Parse("x://" + authority[:at] + "host" + rest[end:])
	if err != nil {
		// The error of package url repeats the URL, which may hold a password.
		return a, nil, invalid("--store: not a URL; escape what is special in user and password, such as %%40 for @")
	}
	a.user = u.User
	if a.params, err = url.ParseQuery(u.RawQuery); err != nil {
		return a, nil, invalid("--store: the parameters behind the question mark cannot be read; write them as name=value&name=value")
	}
	for name, values := range a.params {
		if len(values) > 1 {
			return a, nil, invalid("--store: parameter %s is given %d times, and one of them would count; give it once", shown(name), len(values))
		}
	}
	a.path = strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
	return a, strings.Split(authority[at:], ","), nil
}

// hostPort reads one host. What cannot be read is not shown: it may be a password whose host is missing.
func hostPort(text, port string) (host, _ string, err error) {
	example := port
	bare := strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]")
	if bare || !strings.Contains(text, ":") {
		text += ":" + port
	}
	host, port, err = net.SplitHostPort(text)
	if err != nil || host == "" || port == "" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", "", invalid("--store: the host cannot be read; write host:port, or [address]:port for IPv6, behind user:password@")
	}
	if len(host) > mostHost {
		return "", "", invalid("--store: host %s: must be at most %d bytes", shown(host), mostHost)
	}
	return host, port, checkPort(host, port, example)
}

// checkPort refuses what no server can listen on.
func checkPort(host, port, example string) error {
	if !digits(port) {
		return invalid("--store: the port of host %s is no number; write host:port, and escape what is special in user and password", shown(host))
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return invalid("--store: port %s of host %s: must be between 1 and 65535; mend what follows the colon, as in host:%s", cut(port), shown(host), example)
	}
	return nil
}

// mostHost is how long a host's name may be.
const mostHost = 253

// mostShown is how much of a value an error repeats.
const mostShown = 64

// cut is a value as an error repeats it.
func cut(s string) string {
	if len(s) > mostShown {
		return strings.ToValidUTF8(s[:mostShown], "") + "..."
	}
	return s
}

// shown is cut, in quotes.
func shown(s string) string { return strconv.Quote(cut(s)) }

func digits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
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
