package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/lease"
)

// actions lists what this page can do.
func (p *Page) actions() []ActionKind {
	list := []ActionKind{}
	if p.cfg.Authorize == nil {
		return list
	}
	if p.src.members != nil {
		list = append(list, ActionDrain)
	}
	if p.src.revoker != nil {
		list = append(list, ActionRevoke)
	}
	return list
}

// mostForm bounds the body of an action.
const mostForm = 16 << 10

// act carries an action out: a POST, from this very site, by somebody whom the caller's authorizer lets.
func (p *Page) act(w http.ResponseWriter, r *http.Request, kind ActionKind) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		p.refuse(w, r, http.StatusMethodNotAllowed, "This changes something: use POST.")
		return
	}
	if p.cfg.Authorize == nil {
		p.refuse(w, r, http.StatusForbidden, "This page is read-only: set Config.Authorize to let it act.")
		return
	}
	if err := p.cfg.CrossOrigin.Check(r); err != nil {
		p.refuse(w, r, http.StatusForbidden, oneLine(err))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		p.refuse(w, r, http.StatusBadRequest, "The form cannot be read: "+oneLine(err))
		return
	}
	a := Action{Kind: kind, Instance: instance.ID(r.PostForm.Get("instance")), Key: r.PostForm.Get("key")}
	a, about, err := a.check()
	if err != nil {
		p.refuse(w, r, http.StatusBadRequest, oneLine(err))
		return
	}
	if err := p.cfg.Authorize(r, a); err != nil {
		p.refuse(w, r, http.StatusForbidden, oneLine(err))
		return
	}
	if code, err := p.carryOut(r.Context(), a); err != nil {
		p.refuse(w, r, code, oneLine(err))
		return
	}
	p.lookAnew(r.Context(), p.cfg.CallTimeout) // so that the next page shows it
	if wantsJSON(r) {
		p.encode(w, r, http.StatusOK, struct {
			Done ActionKind `json:"done"`
		}{kind})
		return
	}
	v := url.Values{"done": {string(kind)}, "about": {about}}
	if kind == ActionRevoke {
		v.Set("w", a.Key)
	}
	w.Header().Set("Location", "./?"+v.Encode())
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}

// check refuses what cannot be meant, and drops what the action is not about.
func (a Action) check() (clean Action, about string, err error) {
	if a.Kind == ActionDrain {
		return Action{Kind: a.Kind, Instance: a.Instance}, string(a.Instance), a.Instance.Check()
	}
	return Action{Kind: a.Kind, Key: a.Key}, a.Key, lease.CheckKey(a.Key)
}

// carryOut does it; an error comes with the status to answer.
func (p *Page) carryOut(ctx context.Context, a Action) (code int, err error) {
	f := p.look(ctx, p.cfg.Refresh, firstLook)
	var text string
	var do func(context.Context) error
	switch {
	case a.Kind == ActionDrain && p.src.members == nil:
		return http.StatusNotImplemented, errors.New("this page knows no registry, so it cannot mark an instance as draining")
	case a.Kind == ActionDrain:
		name := ""
		for i := range f.members {
			if m := &f.members[i]; m.ID == a.Instance && !m.Stranger {
				name = m.Name
			}
		}
		if name == "" {
			return http.StatusNotFound, errors.New("there is no such instance: it may have left meanwhile; look at the page again")
		}
		text = name + " was told to drain on this page"
		do = func(ctx context.Context) error { return p.src.members.BeginDrain(ctx, a.Instance) }
	case p.src.revoker == nil:
		return http.StatusNotImplemented, errors.New("this store cannot revoke leases")
	default:
		row, known := f.find(a.Key)
		if !known || row.Owner == "" {
			return http.StatusNotFound, errors.New("nobody holds this key: it may have been let go meanwhile; look at the page again")
		}
		text = "the lease of " + row.label() + " on " + row.OwnerName + " was revoked on this page"
		do = func(ctx context.Context) error { return p.src.revoker.Revoke(ctx, a.Key) }
	}
	// The viewer may go away; what was asked for is done all the same.
	_, err = call.Do(context.WithoutCancel(ctx), &p.gate, string(a.Kind), p.cfg.CallTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, do(ctx)
	})
	if err != nil {
		p.cfg.Logger.Warn("action failed", "kind", string(a.Kind), "instance", string(a.Instance), "key", a.Key, "error", err)
		return http.StatusBadGateway, err
	}
	p.cfg.Logger.Info("action", "kind", string(a.Kind), "instance", string(a.Instance), "key", a.Key)
	p.past.note(Event{At: time.Now(), Kind: EventAction, Text: text, Instance: a.Instance, Key: a.Key})
	return http.StatusOK, nil
}
