package redisstore

import (
	"fmt"
	"testing"

	"github.com/tenure-go/tenure/lease"
)

// BenchmarkCodec is what reading the server's answers costs beside the trips.
func BenchmarkCodec(b *testing.B) {
	b.Run("status", func(b *testing.B) {
		text := `1796057900118412 1796057900118412 1796057900118412 active 5 owner{"name":"nightly","info":"planned here"}`
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := parseStatus("key", text); !ok {
				b.Fatal("it does not read")
			}
		}
	})
	b.Run("hint", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if parseHint("released workload-000001").Key == "" {
				b.Fatal("it does not read")
			}
		}
	})
	b.Run("500 grants", func(b *testing.B) {
		keys := make([]string, most)
		var r reply
		for i := range keys {
			keys[i] = fmt.Sprintf("workload-%06d", i)
			r = append(r, "granted", "1796057900118412", int64(1796057900118412))
		}
		sess := lease.NewSession("owner", lease.DefaultMaxTTL)
		b.ReportAllocs()
		for b.Loop() {
			var g lease.Grant
			if err := r.grants(&g, sess, keys); err != nil {
				b.Fatal(err)
			}
		}
	})
}
