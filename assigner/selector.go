package assigner

import (
	"slices"
	"strings"

	"github.com/tenure-go/tenure/internal/fault"
)

// Selector restricts a workload to instances by their labels, in the notation known from
// Kubernetes: requirements separated by commas, all of which must hold.
//
//	gpu                  the label is there
//	!spot                the label is not there
//	arch=arm64           it has this value (== is the same)
//	tier!=test           it has another value or is not there
//	disk in (ssd,nvme)   it has one of the values
//	disk notin (hdd)     it has none of them or is not there
//
// The labels tenure/zone and tenure/version stand for Instance.Zone and Instance.Version (absent
// where those are empty). Names and values are 1 to 512 bytes without spaces and without any of
// ",()=!"; a value after = or != may be empty. The empty selector matches every instance.
type Selector string

// The labels that every instance has without declaring them.
const (
	ZoneLabel    = "tenure/zone"
	VersionLabel = "tenure/version"
)

// requirement: the label's presence and value must satisfy it.
type requirement struct {
	label  string
	values []string // nil: any value
	negate bool
}

// Check returns an error that matches lease.ErrInvalid where the selector cannot be parsed.
func (s Selector) Check() error {
	_, err := s.parse()
	return err
}

// Matches reports whether the instance satisfies the selector; an invalid selector matches nothing.
func (s Selector) Matches(i Instance) bool {
	rs, err := s.parse()
	return err == nil && matchAll(rs, i)
}

func matchAll(rs []requirement, i Instance) bool {
	for _, r := range rs {
		value, has := i.label(r.label)
		ok := has && (r.values == nil || slices.Contains(r.values, value))
		if ok == r.negate {
			return false
		}
	}
	return true
}

func (i Instance) label(name string) (string, bool) {
	switch name {
	case ZoneLabel:
		return i.Zone, i.Zone != ""
	case VersionLabel:
		return i.Version, i.Version != ""
	}
	v, ok := i.Labels[name]
	return v, ok
}

func (s Selector) parse() ([]requirement, error) {
	if err := fault.CheckText("selector", string(s)); err != nil {
		return nil, err
	}
	rest := strings.TrimSpace(string(s))
	if rest == "" {
		return nil, nil
	}
	var rs []requirement
	for {
		part, after, more := cutRequirement(rest)
		r, ok := parseRequirement(strings.TrimSpace(part))
		if !ok {
			return nil, fault.Invalid("selector", string(s), "write label, !label, label=value, label!=value, label in (a,b) or label notin (a,b), separated by commas")
		}
		rs = append(rs, r)
		if !more {
			return rs, nil
		}
		rest = after
	}
}

// cutRequirement cuts at the first comma outside parentheses.
func cutRequirement(s string) (part, after string, more bool) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				return s[:i], s[i+1:], true
			}
		}
	}
	return s, "", false
}

func parseRequirement(s string) (requirement, bool) {
	if before, list, found := strings.Cut(s, "("); found {
		return parseSet(before, list)
	}
	if name, value, found := strings.Cut(s, "!="); found {
		return equality(name, value, true)
	}
	if name, value, found := strings.Cut(s, "="); found {
		return equality(name, strings.TrimPrefix(value, "="), false)
	}
	name, negate := strings.CutPrefix(s, "!")
	name = strings.TrimSpace(name)
	return requirement{label: name, negate: negate}, word(name)
}

func equality(name, value string, negate bool) (requirement, bool) {
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	return requirement{label: name, values: []string{value}, negate: negate}, word(name) && (value == "" || word(value))
}

func parseSet(head, tail string) (requirement, bool) {
	list, closed := strings.CutSuffix(strings.TrimSpace(tail), ")")
	fields := strings.Fields(head)
	if !closed || len(fields) != 2 || (fields[1] != "in" && fields[1] != "notin") {
		return requirement{}, false
	}
	r := requirement{label: fields[0], negate: fields[1] == "notin"}
	for v := range strings.SplitSeq(list, ",") {
		v = strings.TrimSpace(v)
		if !word(v) {
			return requirement{}, false
		}
		r.values = append(r.values, v)
	}
	return r, word(r.label)
}

func word(s string) bool {
	return s != "" && len(s) <= fault.MaxKey && !strings.ContainsAny(s, ",()=! \t\r\n\v\f")
}
