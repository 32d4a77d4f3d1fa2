package lab

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
)

// Contenders alternate, the first round does not count, and ratios are of the same round.
func TestCompare(t *testing.T) {
	var order strings.Builder
	contender := func(name string, kind Kind, values ...float64) Contender {
		n := 0
		return Contender{name, kind, func(context.Context) (float64, error) {
			order.WriteString(name)
			n++
			return values[n-1], nil
		}}
	}
	l := Lab{Rounds: 3, Log: io.Discard}
	table, err := l.Compare(t.Context(), "work", "ms", contender("f", Floor, 99, 1, 10, 100), contender("o", Ours, 99, 2, 30, 400))
	if err != nil {
		t.Fatal(err)
	}
	if order.String() != "fofooffo" {
		t.Errorf("the order was %s", order.String())
	}
	if r := table.Ratio("o", "f"); r != 3 {
		t.Errorf("the ratio is %v, want the median of 2, 3 and 4", r)
	}
	var b bytes.Buffer
	table.Write(&b)
	if want := "| **o** | 2.00 | 30.0 | 400 | 3.00 | 1.00 |"; !strings.Contains(b.String(), want) {
		t.Errorf("%s\nis without %s", b.String(), want)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.01234: "0.0123", 1.234: "1.23", 99.96: "100", 12345678: "12 345 678", 999: "999"} {
		if got := Digits(v); got != want {
			t.Errorf("%v is shown as %s, want %s", v, got, want)
		}
	}
}

func TestBounds(t *testing.T) {
	var r Report
	r.AtMost("a", 2, 2, "×")
	r.AtLeast("b", 1, 2, "ms")
	var b bytes.Buffer
	r.Write(&b)
	for _, want := range []string{"| a | ≤ 2.00 × | 2.00 × | ok |", "| b | ≥ 2.00 ms | 1.00 ms | **missed** |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\nis without %s", b.String(), want)
		}
	}
}

func TestPlots(t *testing.T) {
	for _, p := range []Plot{
		{File: "bars", Bars: []Bar{{"a", Floor, 0.5}, {"b", Ours, 500}}},
		{File: "lines", Lines: []Line{{"a", []float64{3, 1, 2}}, {"b", []float64{10, 20}}}},
	} {
		path, err := p.Save(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || !bytes.Contains(text, []byte("<svg")) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
