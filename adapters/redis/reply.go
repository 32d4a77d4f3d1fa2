package redisstore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// reply is a script's answer: texts, whole numbers below 2^53, and lists of texts. Scripts answer no other
// numbers, which Redis would cut to whole ones, and no nils, which would end the list.
type reply []any

func malformed(v any) error {
	return fmt.Errorf("the server's answer cannot be read: %.100q", fmt.Sprint(v))
}

// text returns the i-th element, and an error where there is none.
func (r reply) text(i int) (string, error) {
	if i < len(r) {
		if s, ok := r[i].(string); ok {
			return s, nil
		}
	}
	return "", malformed(r)
}

// list returns the i-th element as a list.
func (r reply) list(i int) (reply, error) {
	if i < len(r) {
		if l, ok := r[i].([]any); ok {
			return l, nil
		}
	}
	return nil, malformed(r)
}

// integer returns the i-th element as a number; scripts write the ones that they read from records as text.
func (r reply) integer(i int) (int64, error) {
	if i < len(r) {
		if n, ok := r[i].(int64); ok {
			return n, nil
		}
	}
	s, err := r.text(i)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, malformed(s)
	}
	return n, nil
}

func (r reply) head() (h head, err error) {
	if h.outcome, err = r.text(0); err != nil {
		return h, err
	}
	var number, freeze int64
	for i, to := range []*int64{&h.now, &number, &freeze} {
		if *to, err = r.integer(i + 1); err != nil {
			return h, err
		}
	}
	h.incarnation = lease.Incarnation{Number: uint64(number), FrozenFor: micros(freeze)}
	h.cause, err = r.text(4)
	return h, err
}

// pairs reads a flat list of names and values, as HGETALL answers.
func (r reply) pairs() (map[string]string, error) {
	m := make(map[string]string, len(r)/2)
	for i := 0; i+1 < len(r); i += 2 {
		k, err := r.text(i)
		if err != nil {
			return nil, err
		}
		if m[k], err = r.text(i + 1); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// table returns the i-th element, a list of names and values, as a map.
func (r reply) table(i int) (map[string]string, error) {
	l, err := r.list(i)
	if err != nil {
		return nil, err
	}
	return l.pairs()
}

// micros is a number of µs as a duration.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// ceil is a duration in whole µs, rounded up: a promise is never cut short.
func ceil(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Microsecond-1)/time.Microsecond), 10)
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
