package drain

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
)

// HandlerConfig is what may be chosen; its zero value accepts POST from anybody who reaches the mux.
type HandlerConfig struct {
	// Internal says that only the platform reaches this mux, never a browser or a client, so that GET may
	// begin a drain: Kubernetes' httpGet hooks send GET.
	Internal bool
	// Token, where it is not empty, must come with each request: "Authorization: Bearer TOKEN". It is 1 or more
	// visible ASCII characters; trim what is read from a file.
	Token string
}

// Answer is the JSON that a handler answers.
type Answer struct {
	// State is "drained", "draining" (not drained in time; the drain goes on) or "refused".
	State string `json:"state"`
	// Drained and Running are the keys that have been let go and that still run here.
	Drained []string `json:"drained"`
	Running []string `json:"running"`
	// ElapsedSeconds counts from the begin of the drain.
	ElapsedSeconds float64 `json:"elapsedSeconds"`
	// Error says why the request was refused, or why the store could not be told of the drain.
	Error string `json:"error,omitempty"`
}

// Handler returns a handler that drains this instance, for a preStop hook. It blocks until the instance is drained
// (200), or for Config.Timeout (504, with what still runs); the server's own WriteTimeout is lifted
// for the request. A request that waits for less says so: "/drain?timeout=20s". Requests that come meanwhile join the same drain, later ones are answered at once. A client
// that goes away ends its request, not the drain.
//
// Refused are other methods than POST (405; GET too unless Internal), a missing token (401), a wrong one and a request
// that a browser made for another site (403), and a timeout that is none (400). Errors of Handler match lease.ErrInvalid.
func (d *Drainer) Handler(cfg HandlerConfig) (http.Handler, error) {
	if strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fault.Invalid("drain.HandlerConfig.Token", "(not shown)", "must be visible ASCII without spaces, or it could never be sent; trim it")
	}
	h := &handler{drainer: d, internal: cfg.Internal}
	if cfg.Token != "" {
		sum := sha256.Sum256([]byte(cfg.Token))
		h.token = sum[:]
	}
	return h, nil
}

// timeoutParam is how a request says for how long it waits.
const timeoutParam = "timeout"

type handler struct {
	drainer  *Drainer
	internal bool
	token    []byte // SHA-256 of the token, so that a comparison tells nothing of its length; nil: none
	origin   http.CrossOriginProtection
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if code, why := h.refuse(w.Header(), r); code != 0 {
		answer(w, code, Answer{State: "refused", Error: why})
		return
	}
	ctx := r.Context()
	if text := r.URL.Query().Get(timeoutParam); text != "" {
		wait, err := time.ParseDuration(text)
		if err != nil || wait <= 0 {
			answer(w, http.StatusBadRequest, Answer{State: "refused", Error: fmt.Sprintf("%s %.40q: must be a duration above 0, such as 20s", timeoutParam, text)})
			return
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, wait, ErrTimeout)
		defer cancel()
	}
	// A drain outlasts what a server allows for ordinary answers. Where the limit cannot be lifted, it stays.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	h.drainer.begin(r.Context()) // even for a client that has gone away already: it asked
	err := h.drainer.Drain(ctx)
	p := h.drainer.Progress()
	a := Answer{State: "drained", Drained: p.Done, Running: p.Running, ElapsedSeconds: p.Elapsed.Seconds()}
	if p.MarkErr != nil {
		a.Error = p.MarkErr.Error()
	}
	code := http.StatusOK
	if err != nil {
		a.State, code = "draining", http.StatusGatewayTimeout
	}
	if err != nil && !errors.Is(err, ErrTimeout) {
		code = http.StatusServiceUnavailable // the request has ended: said in case that somebody still listens
	}
	answer(w, code, a)
}

// refuse returns the status and the reason of a refusal, or 0.
func (h *handler) refuse(header http.Header, r *http.Request) (code int, why string) {
	if h.token != nil {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			header.Set("WWW-Authenticate", "Bearer")
			return http.StatusUnauthorized, "send the header Authorization: Bearer TOKEN"
		}
		if sum := sha256.Sum256([]byte(token)); subtle.ConstantTimeCompare(sum[:], h.token) != 1 {
			return http.StatusForbidden, "wrong token"
		}
	}
	switch {
	case r.Method == http.MethodPost, r.Method == http.MethodGet && h.internal:
	case h.internal:
		header.Set("Allow", "GET, POST")
		return http.StatusMethodNotAllowed, "use POST or GET"
	default:
		header.Set("Allow", "POST")
		return http.StatusMethodNotAllowed, "use POST; GET is accepted on a mux that was configured as internal"
	}
	asPost := *r // a GET changes something here, so it is judged like a POST
	asPost.Method = http.MethodPost
	if err := h.origin.Check(&asPost); err != nil {
		return http.StatusForbidden, err.Error()
	}
	return 0, ""
}

func answer(w http.ResponseWriter, code int, a Answer) {
	// Lists, not null: what reads this should need no special case for nothing.
	a.Drained = append([]string{}, a.Drained...)
	a.Running = append([]string{}, a.Running...)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(a) // a client that has gone away cannot be told so
}
