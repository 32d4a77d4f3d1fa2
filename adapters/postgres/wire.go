package postgresstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// stmt is one statement and its arguments. Arguments and results travel as text with every type
// written in the statement, so that neither a prepared statement nor the session's DateStyle,
// TimeZone, IntervalStyle or registered types matter: a transaction pooler needs no settings.
type stmt struct {
	sql  string
	args [][]byte
}

func text(s string) []byte { return []byte(s) }

func number[T ~int | ~int64 | ~uint64](n T) []byte { return appendNumber(nil, n) }

func appendNumber[T ~int | ~int64 | ~uint64](b []byte, n T) []byte {
	if n < 0 {
		return strconv.AppendInt(b, int64(n), 10)
	}
	return strconv.AppendUint(b, uint64(n), 10)
}

func boolean(b bool) []byte { return strconv.AppendBool(nil, b) }

// textArray writes an array literal; inside quotes only the quote and the backslash are special.
func textArray(items []string) []byte {
	size := 2
	for _, s := range items {
		size += len(s) + 3
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteByte('{')
	for i, s := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		if strings.ContainsAny(s, `"\`) {
			s = strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`)
		}
		b.WriteString(s)
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return []byte(b.String())
}

func numberArray[T ~int64 | ~uint64](items []T) []byte {
	b := make([]byte, 0, 2+17*len(items)) // a token has sixteen digits
	b = append(b, '{')
	for i, n := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, n)
	}
	return append(b, '}')
}

// send pipelines the statements as one message and returns their rows. On an error the rows of the
// statements that came before it are returned too.
func send(ctx context.Context, pg *pgconn.PgConn, stmts []stmt) ([][][][]byte, error) {
	var b pgconn.Batch
	for _, s := range stmts {
		b.ExecParams(s.sql, s.args, nil, nil, nil)
	}
	results, err := pg.ExecBatch(ctx, &b).ReadAll()
	rows := make([][][][]byte, 0, len(results))
	for _, r := range results {
		if r.Err != nil {
			return rows, r.Err
		}
		rows = append(rows, r.Rows)
	}
	return rows, err
}

// cells reads one row from left to right; NULL reads as the zero value. The first value that does
// not parse is kept in err.
type cells struct {
	row [][]byte
	err error
}

func (c *cells) next() []byte {
	if len(c.row) == 0 {
		if c.err == nil {
			c.err = fmt.Errorf("postgresstore: the server answered too few columns")
		}
		return nil
	}
	v := c.row[0]
	c.row = c.row[1:]
	return v
}

func (c *cells) text() string { return string(c.next()) }

func (c *cells) bool() bool {
	v := c.next()
	return len(v) == 1 && v[0] == 't'
}

func (c *cells) int() int64 {
	n, _ := c.maybeInt()
	return n
}

// maybeInt also tells whether there was a value.
func (c *cells) maybeInt() (int64, bool) {
	v := c.next()
	if v == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("postgresstore: unexpected answer: %w", err)
	}
	return n, err == nil
}
