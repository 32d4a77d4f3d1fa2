package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// emit prints one JSON object on a line.
func (a *app) emit(v any) error {
	enc := json.NewEncoder(a.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// say prints a line, or v where JSON was asked for.
func (a *app) say(v any, format string, args ...any) error {
	if a.json {
		return a.emit(v)
	}
	_, err := fmt.Fprintf(a.Out, format+"\n", args...)
	return err
}

// answer is standard output. It knows whether anything was said there, and whether it arrived: not everything that prints looks.
type answer struct {
	io.Writer
	said bool
	err  error // the first one
}

// Write implements io.Writer.
func (w *answer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.said = w.said || n > 0
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// failure is the JSON of a command that failed before it had an answer.
type failure struct {
	Error  string `json:"error"`
	Status int    `json:"status"`
}

// isTerminal reports whether w or r is one, and its size.
func isTerminal(x any) (width, height int, ok bool) {
	if w, ok := x.(*answer); ok {
		x = w.Writer
	}
	f, isFile := x.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 || height < 5 {
		width, height = 80, 24
	}
	return width, height, true
}

// grid prints columns as wide as their widest cell, two spaces apart.
type grid [][]string

func (g grid) lines() []string {
	var widths []int
	for _, row := range g {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out []string
	for _, row := range g {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}

func (g grid) print(w io.Writer) {
	for _, line := range g.lines() {
		fmt.Fprintln(w, line)
	}
}

// printable is text of a store on one line of a terminal: no control characters, not too long.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
	if r := []rune(s); most > 0 && len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}

// named is a key as people read it: quoted where it has characters that would not show, so that no two keys look alike.
func named(key string, most int) string {
	if strings.ContainsFunc(key, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) {
		key = strconv.Quote(key)
	}
	return printable(key, most)
}

// cut is a text that was given, quoted, and shortened as the contracts shorten keys.
func cut(text string) string {
	const most = 64
	if len(text) > most {
		return fmt.Sprintf("%q... (%d bytes)", strings.ToValidUTF8(text[:most], "?"), len(text))
	}
	return strconv.Quote(text)
}

// short is an instance's ID as people can read it: without most of its random end. A prefix of an ID is enough for
// every command.
func short(id string) string {
	i := strings.LastIndexByte(id, ':')
	if i < 0 || len(id)-i-1 <= 8 {
		return printable(id, 48)
	}
	return printable(id[:i+9], 48)
}

// left is a life time that people read: tenths of a second below a minute.
func left(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// ago is how long something is past.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(now.Sub(t), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return t.Local().Format("2006-01-02")
}
