package postgresstore

import (
	"fmt"
	"testing"
)

// BenchmarkCodec is what writing the arguments and reading the answers costs beside the trips.
func BenchmarkCodec(b *testing.B) {
	keys, tokens := make([]string, chunk), make([]int64, chunk)
	for i := range keys {
		keys[i], tokens[i] = fmt.Sprintf("workload-%06d", i), int64(1796057900118412+i)
	}
	b.Run("500 keys", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			textArray(keys)
		}
	})
	b.Run("500 tokens", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			numberArray(tokens)
		}
	})
	b.Run("a row", func(b *testing.B) {
		row := [][]byte{[]byte("workload-000001"), []byte("1796057900118412"), []byte("t")}
		b.ReportAllocs()
		for b.Loop() {
			c := cells{row: row}
			if c.text() == "" || c.int() == 0 || !c.bool() || c.err != nil {
				b.Fatal("it does not read")
			}
		}
	})
}
