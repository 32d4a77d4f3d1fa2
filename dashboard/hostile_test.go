package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// stage writes one workload and its owner with texts that somebody else chose; false where the contracts
// refuse them, so that no page ever sees them.
func stage(t testing.TB, key, name, info, id string) (*memory.Store, bool) {
	t.Helper()
	store, err := memory.New(memory.Config{MaxTTL: lasting})
	require.NoError(t, err)
	ctx := t.Context()
	self := registry.Self{Instance: instance.Instance{ID: instance.ID(id), Zone: "z", Labels: map[string]string{"name": strings.ToValidUTF8(clip(name, 40), "")}}}
	if _, err := store.Heartbeat(ctx, self, lasting, 0); err != nil {
		return nil, false
	}
	s := lease.NewSession(instance.ID(id), lasting)
	if _, err := store.OpenSession(ctx, s); err != nil {
		return nil, false
	}
	grant, err := store.Acquire(ctx, s, []string{key})
	if err != nil || len(grant.Leases) == 0 {
		return nil, false
	}
	r := status.Record{Key: key, Name: name, Info: info, State: status.Active, Token: grant.Leases[0].Token}
	return store, store.PutStatus(ctx, instance.ID(id), lasting, []status.Record{r}) == nil
}

var tagOrAttribute = regexp.MustCompile(`(?i)<script[^>]*>[^<]|<img|<b>bold|<[^>]*\sstyle\s*=|href="javascript:`)

// FuzzTexts: whatever keys, names, statuses and instances say, the page shows it as text, and the twin as it is.
func FuzzTexts(f *testing.F) {
	f.Add("feeds/a", "Feed A", "orphan", "host:1:abcdef")
	f.Add(`"><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `</code><b>bold`, `' onmouseover=x id="`)
	f.Add("javascript:alert(1)", "{{.Title}}", "\x01\u2028\u202e", "a:b:ü💥…")
	f.Add(strings.Repeat("k", 512), strings.Repeat("ü", 256), strings.Repeat("x", 4096), strings.Repeat(":", 512))
	f.Fuzz(func(t *testing.T, key, name, info, id string) {
		store, ok := stage(t, key, name, info, id)
		if !ok {
			return
		}
		p := open9(t, store, Config{Authorize: func(*http.Request, Action) error { return nil }})
		w := get(p, "/?w="+url.QueryEscape(key))
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.True(t, utf8.Valid(w.Body.Bytes()))
		if m := tagOrAttribute.FindString(w.Body.String()); m != "" {
			t.Errorf("the page obeys a text: %q", m)
		}
		w = get(p, "/?w="+url.QueryEscape(key), "Accept", "application/json")
		var v View
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v))
		if strings.HasPrefix(key, lease.ReservedPrefix) {
			assert.Empty(t, v.Workloads.Rows)
			return
		}
		require.Len(t, v.Workloads.Rows, 1)
		assert.Equal(t, key, v.Workloads.Rows[0].Key)
		assert.Equal(t, info, v.Workloads.Rows[0].Info)
		assert.Equal(t, instance.ID(id), v.Workloads.Rows[0].Owner)
		assert.True(t, v.Workload.Found)
	})
}

// FuzzQuery: a query is refused with a sentence, or understood: then its link asks for the same.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"", "q=a&page=3", "w=%22%3E&owner=x&state=attention&sort=since&per=500&refresh=0", "page=-1", "q=%ff", "a=b;c", "page=1&page=2"} {
		f.Add(q)
	}
	p := open9(f, written(f, 2, 60), Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseQuery(raw)
		if err != nil {
			require.ErrorIs(t, err, lease.ErrInvalid)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		_, again, _ := strings.Cut(q.link(), "?")
		back, err := parseQuery(again)
		require.NoError(t, err)
		q.done, q.about = "", ""
		require.Equal(t, q, back)
		fl := p.look(t.Context(), lasting, lasting)
		l := fl.list(q)
		require.LessOrEqual(t, len(l.Rows), q.per)
		require.LessOrEqual(t, l.Page, l.Pages)
		_, err = p.show(fl, q).fragment("workloads")
		require.NoError(t, err)
	})
}

func FuzzAccept(f *testing.F) {
	f.Add("application/json;q=0.5, text/html;q=1e3")
	f.Fuzz(func(t *testing.T, accept string) {
		if q := quality([]string{accept}, "text/html"); !(q >= 0 && q <= 1) {
			t.Error(q)
		}
	})
}

// The functions that a user gives are called with care.
func TestUserFunctionsThatPanic(t *testing.T) {
	p := open9(t, written(t, 1, 1), Config{
		Name:      func(instance.Instance) string { panic("name") },
		Catalogue: func() []Workload { panic("catalogue") },
	})
	w := get(p, "/")
	assert.Equal(t, 200, w.Code)
	has(t, w.Body.String(), "The store does not answer")
	has(t, w.Body.String(), "Catalogue")
	p = open9(t, written(t, 1, 1), Config{Name: func(instance.Instance) string { panic("name") }})
	has(t, get(p, "/").Body.String(), "host-0:1:abcd")
}

func TestOddCatalogue(t *testing.T) {
	p := open9(t, written(t, 1, 1), Config{Catalogue: func() []Workload {
		var list []Workload
		for _, key := range []string{"z", "", "a", "a", "tenant/00000"} {
			w := Workload{Name: fmt.Sprintf("name of %s", key)}
			w.Key = key
			list = append(list, w)
		}
		return list
	}})
	v := twin(t, p, "")
	var keys []string
	for _, r := range v.Workloads.Rows {
		keys = append(keys, r.Key)
	}
	assert.Equal(t, []string{"a", "tenant/00000", "z"}, keys)
}
