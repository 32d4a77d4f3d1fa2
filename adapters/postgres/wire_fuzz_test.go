package postgresstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// parseArray reads an array literal as the server does where every element is quoted.
func parseArray(s string) ([]string, error) {
	errBad := errors.New("no array literal")
	body, ok := strings.CutPrefix(s, "{")
	if !ok {
		return nil, errBad
	}
	var out []string
	for !strings.HasPrefix(body, "}") {
		if len(out) > 0 {
			if body, ok = strings.CutPrefix(body, ","); !ok {
				return nil, errBad
			}
		}
		if body, ok = strings.CutPrefix(body, `"`); !ok {
			return nil, errBad
		}
		var item strings.Builder
		for {
			if body == "" || body == `\` {
				return nil, errBad
			}
			c := body[0]
			body = body[1:]
			if c == '"' {
				break
			}
			if c == '\\' {
				c, body = body[0], body[1:]
			}
			item.WriteByte(c)
		}
		out = append(out, item.String())
	}
	if body != "}" {
		return nil, errBad
	}
	return out, nil
}

// FuzzTextArray: no text leaves the quotes that it is put in.
func FuzzTextArray(f *testing.F) {
	f.Add("", "a")
	f.Add(`"`, `\`)
	f.Add(`\"`, `","`)
	f.Add("{}", "NULL")
	f.Add("é\n", `}"{`)
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, items := range [][]string{nil, {a}, {a, b}, {b, a, a}} {
			got, err := parseArray(string(textArray(items)))
			if err != nil || !slices.Equal(got, items) {
				t.Errorf("%q reads as %q (%v)", items, got, err)
			}
		}
	})
}

// FuzzCells: no answer of a server makes the reader panic, and one that does not fit is an error.
func FuzzCells(f *testing.F) {
	f.Add("a", "1", "t", 3)
	f.Add("", "", "", 0)
	f.Add("x", "9223372036854775808", "true", 3)
	f.Add("x", "-1", "f", 2)
	f.Fuzz(func(t *testing.T, text, number, truth string, columns int) {
		row := [][]byte{[]byte(text), []byte(number), []byte(truth)}[:min(max(columns, 0), 3)]
		c := cells{row: row}
		got, n, yes := c.text(), c.int(), c.bool()
		if len(row) < 3 {
			if c.err == nil {
				t.Errorf("%d columns are enough", len(row))
			}
			return
		}
		if got != text || yes != (truth == "t") || c.err == nil && fmt.Sprint(n) != number && number != "" && number[0] != '+' && number[0] != '0' && number[0] != '-' {
			t.Errorf("%q reads as %q, %d, %v (%v)", row, got, n, yes, c.err)
		}
	})
}
