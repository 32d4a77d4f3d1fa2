package status_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/status"
)

// FuzzRecord: what Check lets through survives JSON unchanged, and what it refuses is named.
func FuzzRecord(f *testing.F) {
	f.Add("key", "a name", "active", "owner", uint64(1), "why", int64(0), int64(time.Second))
	f.Add("", "", "", "", uint64(0), "", int64(0), int64(0))
	f.Add("k\x00", "n\xff", "Active", "o\x00", uint64(1<<63), strings.Repeat("x", status.MaxInfo+1), int64(-1), int64(-1))
	f.Add(strings.Repeat("k", 513), "<b>&\u2028\u2029", "inactive", "\u00e9", uint64(1<<64-1), "\t\"\\\n", int64(1<<40), int64(1<<62))
	f.Fuzz(func(t *testing.T, key, name, state, owner string, token uint64, info string, since, left int64) {
		r := status.Record{
			Key: key, Name: name, State: status.State(state), Owner: instance.ID(owner), Token: token, Info: info,
			Since: time.UnixMicro(since % (1 << 50)).UTC(), TTLLeft: time.Duration(left),
		}
		name0 := func(s string, most int) bool {
			return len(s) <= most && utf8.ValidString(s) && !strings.Contains(s, "\x00")
		}
		good := key != "" && name0(key, 512) && name0(name, 512) && name0(info, status.MaxInfo) &&
			(r.State == status.Active || r.State == status.Transferring || r.State == status.Inactive)
		err := r.Check()
		if good != (err == nil) || err != nil && !errors.Is(err, status.ErrInvalid) {
			t.Fatalf("%+v: error %v, and good is %v", r, err, good)
		}
		if err != nil || !utf8.ValidString(owner) {
			return
		}
		js, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back status.Record
		if err := json.Unmarshal(js, &back); err != nil || back != r {
			t.Errorf("%+v became %+v (%v)", r, back, err)
		}
	})
}

// FuzzRecordJSON: no text makes the decoder panic, and what it makes of it can be checked.
func FuzzRecordJSON(f *testing.F) {
	f.Add([]byte(`{"key":"k","state":"active","owner":"o","token":18446744073709551615,"since":"2026-01-02T03:04:05.000006Z","ttlLeft":1}`))
	f.Add([]byte(`{"token":-1}`))
	f.Add([]byte(`{"since":"yesterday"}`))
	f.Add([]byte("{\"key\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r status.Record
		if json.Unmarshal(text, &r) != nil || r.Check() != nil {
			return
		}
		js, err := json.Marshal(r)
		if err != nil {
			return // a year that JSON cannot say
		}
		var back status.Record
		if err := json.Unmarshal(js, &back); err != nil || !back.Since.Equal(r.Since) || back.Key != r.Key || back.Token != r.Token || back.Info != r.Info {
			t.Errorf("%s became %s (%v)", text, js, err)
		}
	})
}
