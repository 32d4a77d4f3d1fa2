package fencing_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/fencing"
)

// request returns a request with a token, or with a raw header.
func request(header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/things/1", nil)
	for _, h := range header {
		r.Header.Add(fencing.Header, h)
	}
	return r
}

func token(key string, value uint64) string { return fencing.Token{Key: key, Value: value}.String() }

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func require(t *testing.T, next http.Handler, store fencing.Store, cfg fencing.Config) http.Handler {
	t.Helper()
	h, err := fencing.Require(next, store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	t, ok := fencing.FromContext(r.Context())
	fmt.Fprint(w, t.Key, " ", t.Value, " ", ok)
})

func TestWhatIsLetIn(t *testing.T) {
	h := require(t, echo, new(fencing.Memory), fencing.Config{})
	for i, c := range []struct {
		headers []string
		code    int
		says    string
		highest string
	}{
		{nil, 428, "send the header Fencing-Token", ""},
		{[]string{token("k", 10)}, 200, "k 10 true", ""},
		{[]string{token("k", 10)}, 200, "k 10 true", ""},
		{[]string{token("k", 9)}, 412, "token 9 refused, 10 was seen", "10;key=k"},
		{[]string{token("other", 1)}, 200, "other 1 true", ""},
		{[]string{token("k", math.MaxUint64)}, 200, "k 18446744073709551615 true", ""},
		{[]string{token("k", 11)}, 412, "18446744073709551615 was seen", "18446744073709551615;key=k"},
		{[]string{"11"}, 400, "must look like", ""},
		{[]string{"011;key=k"}, 400, "leading zeros", ""},
		{[]string{"0;key=k"}, 400, "decimal number", ""},
		{[]string{"-1;key=k"}, 400, "decimal number", ""},
		{[]string{"18446744073709551616;key=k"}, 400, "decimal number", ""},
		{[]string{"1;key="}, 400, "must not be empty", ""},
		{[]string{"1;key=%zz"}, 400, "percent-encoded", ""},
		{[]string{"1;key=%ff"}, 400, "UTF-8", ""},
		{[]string{"1;key=%6b"}, 400, "spell it", ""},
		{[]string{"1;key=" + strings.Repeat("x", 513)}, 400, "at most 512 bytes", ""},
		{[]string{token("k", 1), token("k", 2)}, 400, "must be there once", ""},
	} {
		w := serve(h, request(c.headers...))
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) || w.Header().Get(fencing.Header) != c.highest {
			t.Errorf("%d: %q: %d %q, header %q", i, c.headers, w.Code, w.Body, w.Header().Get(fencing.Header))
		}
	}
}

func TestTokenOfAnotherKey(t *testing.T) {
	h := require(t, echo, new(fencing.Memory), fencing.Config{Key: func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/things/") }})
	if w := serve(h, request(token("2", 5))); w.Code != 400 || !strings.Contains(w.Body.String(), `belongs to "1"`) {
		t.Error(w.Code, w.Body)
	}
	if w := serve(h, request(token("1", 5))); w.Code != 200 {
		t.Error(w.Code, w.Body)
	}
}

// A newer token waits for the requests of older ones, whose contexts it ends, and no older one is let in
// from the moment it came.
func TestNewerWaitsForOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tok, _ := fencing.FromContext(r.Context())
			if tok.Value < 10 {
				<-r.Context().Done()
				<-let // it takes its time to undo what it did
				if !fencing.Refuse(w, context.Cause(r.Context())) {
					t.Error("cause:", context.Cause(r.Context()))
				}
				return
			}
			fmt.Fprint(w, "done")
		})
		h := require(t, next, new(fencing.Memory), fencing.Config{Timeout: time.Minute})
		var older, same, newer *httptest.ResponseRecorder
		var wg sync.WaitGroup
		wg.Go(func() { older = serve(h, request(token("k", 5))) })
		wg.Go(func() { same = serve(h, request(token("k", 5))) })
		synctest.Wait()
		wg.Go(func() { newer = serve(h, request(token("k", 10))) })
		synctest.Wait()
		if newer != nil {
			t.Error("let in while an older one is inside")
		}
		if w := serve(h, request(token("k", 5))); w.Code != 412 {
			t.Error("an older one that comes meanwhile:", w.Code)
		}
		if w := serve(h, request(token("other", 10))); w.Code != 200 {
			t.Error("another key:", w.Code)
		}
		close(let)
		wg.Wait()
		if older.Code != 409 || same.Code != 409 || newer.Code != 200 {
			t.Error(older.Code, same.Code, newer.Code)
		}
		if err := fencing.Refused(older.Result()); !errors.Is(err, fencing.ErrStale) || !strings.Contains(err.Error(), "overtaken, 10 was seen") {
			t.Error(err)
		}
	})
}

func TestHandlerThatDoesNotReturnHoldsUpTheNewOwnerForTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if tok, _ := fencing.FromContext(r.Context()); tok.Value == 1 {
				<-let
			}
		})
		h := require(t, next, new(fencing.Memory), fencing.Config{})
		var wg sync.WaitGroup
		wg.Go(func() { serve(h, request(token("k", 1))) })
		synctest.Wait()
		start := time.Now()
		w := serve(h, request(token("k", 2)))
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || time.Since(start) != 10*time.Second {
			t.Error(w.Code, time.Since(start))
		}
		close(let)
		wg.Wait()
		if w := serve(h, request(token("k", 2))); w.Code != 200 {
			t.Error(w.Code)
		}
	})
}

type storeFunc func(ctx context.Context, key string, token uint64) (uint64, error)

func (f storeFunc) Advance(ctx context.Context, key string, token uint64) (uint64, error) {
	return f(ctx, key, token)
}

func TestStoreInTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		store storeFunc
		code  int
	}{
		"fails":      {func(context.Context, string, uint64) (uint64, error) { return 0, errors.New("down") }, 503},
		"panics":     {func(context.Context, string, uint64) (uint64, error) { panic("down") }, 503},
		"hangs":      {func(context.Context, string, uint64) (uint64, error) { time.Sleep(time.Hour); return 5, nil }, 503},
		"is lagging": {func(_ context.Context, _ string, token uint64) (uint64, error) { return token - 1, nil }, 503},
		"saw newer":  {func(_ context.Context, _ string, token uint64) (uint64, error) { return token + 1, nil }, 412},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				called := false
				h := require(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }), c.store, fencing.Config{})
				if w := serve(h, request(token("k", 5))); w.Code != c.code || called {
					t.Error(w.Code, called)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// Two processes of the resource share a store: what one has seen, the other refuses.
func TestTwoProcesses(t *testing.T) {
	store := new(fencing.Memory)
	a, b := require(t, echo, store, fencing.Config{}), require(t, echo, store, fencing.Config{})
	if w := serve(a, request(token("k", 5))); w.Code != 200 {
		t.Error(w.Code)
	}
	if w := serve(b, request(token("k", 4))); w.Code != 412 {
		t.Error(w.Code)
	}
}

// However requests come, those that are inside at once have one token, and no token comes after a newer one.
func TestRandomRequests(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			inside, newest := map[uint64]int{}, uint64(0)
			next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				tok, _ := fencing.FromContext(r.Context())
				mu.Lock()
				inside[tok.Value]++
				if len(inside) > 1 || tok.Value < newest {
					t.Errorf("seed %d: inside %v, newest %d", seed, inside, newest)
				}
				newest = max(newest, tok.Value)
				d := time.Duration(rnd.IntN(100)) * time.Millisecond
				mu.Unlock()
				time.Sleep(d)
				mu.Lock()
				if inside[tok.Value]--; inside[tok.Value] == 0 {
					delete(inside, tok.Value)
				}
				mu.Unlock()
			})
			memory := new(fencing.Memory)
			slow := storeFunc(func(ctx context.Context, key string, token uint64) (uint64, error) {
				mu.Lock()
				d := time.Duration(rnd.IntN(20)) * time.Millisecond
				mu.Unlock()
				time.Sleep(d)
				return memory.Advance(ctx, key, token)
			})
			h := require(t, next, slow, fencing.Config{})
			var wg sync.WaitGroup
			served := 0
			for i := range 200 {
				mu.Lock()
				value := uint64(1 + i/10 + rnd.IntN(5))
				mu.Unlock()
				wg.Go(func() {
					code := serve(h, request(token("k", value))).Code
					mu.Lock()
					defer mu.Unlock()
					if code == 200 {
						served++
					}
				})
				time.Sleep(5 * time.Millisecond)
			}
			wg.Wait()
			if served < 10 {
				t.Errorf("seed %d: only %d were let in", seed, served)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	for name, err := range map[string]error{
		"next handler":           second(fencing.Require(nil, new(fencing.Memory), fencing.Config{})),
		"fencing store":          second(fencing.Require(echo, nil, fencing.Config{})),
		"fencing.Config.Timeout": second(fencing.Require(echo, new(fencing.Memory), fencing.Config{Timeout: -1})),
	} {
		if !errors.Is(err, fencing.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(fencing.Memory).Advance(ctx, "k", 1); !errors.Is(err, fencing.ErrUnavailable) {
		t.Error(err)
	}
	if fencing.Refuse(httptest.NewRecorder(), errors.New("other")) || fencing.Refuse(httptest.NewRecorder(), nil) {
		t.Error("not ours")
	}
}

func second[T any](_ T, err error) error { return err }
