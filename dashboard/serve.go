package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// policy is strict: everything comes from here, nothing is inline, nobody frames it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// firstLook is how long the first answer waits for the store, before it says that it does not answer.
const firstLook = time.Second

// assetVersion changes with the files, so that browsers may keep them for good.
var assetVersion = func() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(served)) {
		b, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // embedded at build time
		}
		sum.Write(b)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}()

// served are the files that the page refers to, with their types.
var served = map[string]string{
	"style.css": "text/css; charset=utf-8",
	"live.js":   "text/javascript; charset=utf-8",
	"icon.svg":  "image/svg+xml",
}

// ServeHTTP serves the page and its JSON twin at the path that ends in a slash, and what they need beside it.
// It never looks at the path before that, so that it can be mounted anywhere.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch name := path.Base("/" + r.URL.Path); {
	case r.URL.Path == "":
		p.addSlash(w, r)
	case strings.HasSuffix(r.URL.Path, "/"):
		if p.reads(w, r) {
			p.serve(w, r)
		}
	case served[name] != "":
		if p.reads(w, r) {
			p.file(w, r, name)
		}
	case name == "events":
		if p.reads(w, r) {
			p.stream(w, r)
		}
	case name == string(ActionDrain), name == string(ActionRevoke):
		p.act(w, r, ActionKind(name))
	default:
		p.refuse(w, r, http.StatusNotFound, fmt.Sprintf("There is no %q here: the page is at the path that ends in a slash.", clip(name, 60)))
	}
}

// addSlash leads a mount point without its slash to the one with it. The browser knows the whole path.
func (p *Page) addSlash(w http.ResponseWriter, r *http.Request) {
	full, _, _ := strings.Cut(r.RequestURI, "?")
	to := "./" + path.Base("/"+full) + "/"
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusPermanentRedirect)
}

// reads reports whether the method only reads, and refuses others.
func (p *Page) reads(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	p.refuse(w, r, http.StatusMethodNotAllowed, "This can only be read: use GET.")
	return false
}

// serve answers the page, or its twin.
func (p *Page) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	w.Header().Set("Cache-Control", "no-store")
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		p.refuse(w, r, http.StatusBadRequest, oneLine(err))
		return
	}
	f := p.look(r.Context(), p.cfg.Refresh, firstLook)
	if wantsJSON(r) {
		v := p.view(f, q)
		p.encode(w, r, http.StatusOK, v)
		return
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "page", p.show(f, q)); err != nil {
		p.refuse(w, r, http.StatusInternalServerError, "The page could not be made: "+oneLine(err))
		return
	}
	write(w, r, http.StatusOK, "text/html; charset=utf-8", b.Bytes())
}

// file answers an embedded file.
func (p *Page) file(w http.ResponseWriter, r *http.Request, name string) {
	b, err := fs.ReadFile(assets, "assets/"+name)
	if err != nil {
		p.refuse(w, r, http.StatusInternalServerError, oneLine(err))
		return
	}
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == assetVersion {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	write(w, r, http.StatusOK, served[name], b)
}

// refusal is the JSON of what was refused.
type refusal struct {
	Error string `json:"error"`
}

// refuse says in one line why not.
func (p *Page) refuse(w http.ResponseWriter, r *http.Request, code int, why string) {
	w.Header().Set("Cache-Control", "no-store")
	if wantsJSON(r) {
		p.encode(w, r, code, refusal{why})
		return
	}
	var b bytes.Buffer
	err := pages.ExecuteTemplate(&b, "message", struct{ Title, Version, Heading, Text string }{
		p.cfg.Title, assetVersion, http.StatusText(code), why,
	})
	if err != nil {
		http.Error(w, why, code)
		return
	}
	write(w, r, code, "text/html; charset=utf-8", b.Bytes())
}

func (p *Page) encode(w http.ResponseWriter, r *http.Request, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, oneLine(err), http.StatusInternalServerError)
		return
	}
	write(w, r, code, "application/json", append(b, '\n'))
}

// smallest is what is not worth compressing.
const smallest = 1024

// write sends a whole answer, compressed where the client takes that.
func write(w http.ResponseWriter, r *http.Request, code int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	if len(body) > smallest && acceptsGzip(r) {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
		_, _ = z.Write(body)                            // a buffer takes everything
		_ = z.Close()
		body = b.Bytes()
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that has gone away cannot be told so
	}
}

func acceptsGzip(r *http.Request) bool {
	return quality(r.Header.Values("Accept-Encoding"), "gzip") > 0
}

// wantsJSON reports whether the client prefers the twin to the page.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Values("Accept")
	return quality(accept, "application/json") > quality(accept, "text/html")
}

// quality is how much a client wants what, as it says by name; 0 where it does not name it.
func quality(headers []string, what string) float64 {
	best := 0.0
	for _, header := range headers {
		for part := range strings.SplitSeq(header, ",") {
			name, params, err := mime.ParseMediaType(part)
			if err != nil || name != what {
				continue
			}
			q := 1.0
			if text, given := params["q"]; given {
				if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
					q = 0
				}
			}
			best = max(best, q)
		}
	}
	return best
}
