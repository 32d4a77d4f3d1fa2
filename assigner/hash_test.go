package assigner

import (
	"bufio"
	"flag"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/hash.golden anew")

var goldenStrings = []string{
	"", "a", "b", "aa", "stream-0", "stream-1", "stream-10", "workload-000000", "workload-000001",
	"node1", "node11", "1", "11", "tenant/42/import", "Zürich", "日本語", "🙂", "a b",
	"pod-7f9c6d5b8-x2k4q", strings.Repeat("k", 512),
}

// TestHashGolden pins the wire format: instances of different versions must agree on every hash.
func TestHashGolden(t *testing.T) {
	const path = "testdata/hash.golden"
	if *update {
		var b strings.Builder
		b.WriteString("# hash   <string, quoted as in Go>  Hash\n# score  <string> <string>          Score(Hash(a), Hash(b))\n")
		for _, s := range goldenStrings {
			fmt.Fprintf(&b, "hash %q %016x\n", s, Hash(s))
		}
		for i, s := range goldenStrings {
			other := goldenStrings[(i*7+3)%len(goldenStrings)]
			fmt.Fprintf(&b, "score %q %q %016x\n", s, other, Score(Hash(s), Hash(other)))
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	vectors := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		words, number := quoted(t, rest)
		got := Hash(words[0])
		if kind == "score" {
			got = Score(got, Hash(words[1]))
		}
		if fmt.Sprintf("%016x", got) != number {
			t.Errorf("%s: got %016x", line, got)
		}
		vectors++
	}
	if vectors != 2*len(goldenStrings) {
		t.Errorf("%d vectors, want %d", vectors, 2*len(goldenStrings))
	}
}

func quoted(t *testing.T, rest string) (words []string, number string) {
	t.Helper()
	for strings.HasPrefix(rest, `"`) {
		prefix, err := strconv.QuotedPrefix(rest)
		if err != nil {
			t.Fatal(err)
		}
		word, err := strconv.Unquote(prefix)
		if err != nil {
			t.Fatal(err)
		}
		words, rest = append(words, word), rest[len(prefix)+1:]
	}
	return words, rest
}

// TestHashFlipsHalfOfTheBits changes one bit of the input at a time.
func TestHashFlipsHalfOfTheBits(t *testing.T) {
	var flips [64]int
	const keys, length = 400, 10
	for k := range keys {
		base := []byte(fmt.Sprintf("stream-%03d", k))[:length]
		h := Hash(string(base))
		for bit := range length * 8 {
			changed := append([]byte(nil), base...)
			changed[bit/8] ^= 1 << (bit % 8)
			for d := h ^ Hash(string(changed)); d != 0; d &= d - 1 {
				flips[bits.TrailingZeros64(d)]++
			}
		}
	}
	for bit, n := range flips {
		if share := float64(n) / (keys * length * 8); share < 0.48 || share > 0.52 {
			t.Errorf("output bit %d flips in %.3f of the cases, want one half", bit, share)
		}
	}
}

func TestScoreKeepsItsPartsApart(t *testing.T) {
	if Score(Hash("node1"), Hash("1")) == Score(Hash("node"), Hash("11")) {
		t.Error("node1+1 and node+11 score the same")
	}
	if Score(Hash("a"), Hash("b")) == Score(Hash("b"), Hash("a")) {
		t.Error("a score does not tell the workload from the instance")
	}
}
