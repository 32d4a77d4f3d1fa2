package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/drain"
)

// mostBody bounds what is read of an answer: ten thousand keys of 512 bytes fit.
const mostBody = 16 << 20

// checkURL refuses what is not an address of a handler, and returns it as it may be shown.
func checkURL(flag, text string) (shown string, err error) {
	const example = "write it as http://127.0.0.1:8080/path"
	u, err := url.Parse(text)
	switch {
	case err != nil && strings.Contains(text, "@"): // it may hold a password
		return "", usage("%s: not a URL; %s", flag, example)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", usage("%s %s: must begin with http:// or https:// and name a host; %s", flag, cut(text), example)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", usage("%s: port %s: must be between 1 and 65535; %s", flag, port, example)
		}
	}
	return u.Redacted(), nil
}

// drainToken reads the token of a drain handler; empty where there is none.
func (o drainOptions) drainToken() (string, error) {
	token, set := os.LookupEnv("TENURE_DRAIN_TOKEN")
	if set && token == "" && o.tokenFile == "" {
		return "", usage("TENURE_DRAIN_TOKEN \"\": must not be empty; give it the handler's token, or unset it")
	}
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return "", usage("--token-file: %s; name a file that can be read", err)
		}
		token = strings.TrimSpace(string(text))
		if token == "" {
			return "", usage("--token-file %s: it is empty; write the handler's token into it", o.tokenFile)
		}
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usage("the drain token must be visible ASCII without spaces, or it cannot be sent; mend the file or TENURE_DRAIN_TOKEN")
	}
	return token, nil
}

// drainURL drains through an instance's own handler, which answers when the drain is over.
func (a *app) drainURL(cmd *cobra.Command, o drainOptions) error {
	shown, err := checkURL("--url", o.url)
	if err != nil {
		return err
	}
	token, err := o.drainToken()
	if err != nil {
		return err
	}
	wait := o.timeout
	if wait > 0 {
		wait += answerWithin
	}
	ctx, cancel, err := bounded(cmd, wait)
	if err != nil {
		return err
	}
	defer cancel()
	began := time.Now()
	stop := a.waiting(shown, began)
	code, body, err := post(ctx, withTimeout(o.url, o.timeout), token)
	stop()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fail(exitTimeout, "%s has not answered after %s, and may go on draining; see \"tenure status\" for what still runs there", shown, left(time.Since(began)))
	case errors.Is(err, context.Canceled):
		return fail(exitInterrupted, "interrupted; the drain goes on")
	case err != nil:
		return fail(exitStore, "%s cannot be reached: %s; check the address, and that the process still runs", shown, bare(err))
	}
	var answer drain.Answer
	if err := json.Unmarshal(body, &answer); err != nil || answer.State == "" {
		return fail(exitNo, "%s answered %d and is no drain handler; check the path", shown, code)
	}
	switch {
	case code == http.StatusOK && answer.State == "drained":
		return a.drained(answer, shown, exitDone)
	case answer.State == "draining":
		return a.drained(answer, shown, exitTimeout)
	}
	if a.json {
		if err := a.emit(answer); err != nil {
			return err
		}
	}
	return fail(exitNo, "%s refused (%d): %s%s", shown, code, answer.Error, advice(code))
}

// answerWithin is how much longer than the drain its answer may take, which names what still runs.
const answerWithin = 5 * time.Second

// withTimeout tells the handler for how long to wait. A URL that says so itself is left as it is.
func withTimeout(text string, wait time.Duration) string {
	u, err := url.Parse(text)
	if err != nil || wait <= 0 || u.Query().Has("timeout") {
		return text
	}
	q := u.Query()
	q.Set("timeout", wait.String())
	u.RawQuery = q.Encode()
	return u.String()
}

// advice is what to do about a refusal.
func advice(code int) string {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "; give the token in --token-file or TENURE_DRAIN_TOKEN"
	}
	return ""
}

// post sends one request. There is no retry and no redirect: it changes something.
func post(ctx context.Context, target, token string) (code int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return do(r)
}

func do(r *http.Request) (code int, body []byte, err error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, mostBody))
	return answer.StatusCode, body, err
}

// bare is a transport error without the URL, which the caller names.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// waiting tells people now and then that an answer is waited for.
func (a *app) waiting(what string, began time.Time) (stop func()) {
	if a.json {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				fmt.Fprintf(a.Err, "draining %s: waiting for %s\n", what, time.Since(began).Round(time.Second))
			}
		}
	}()
	return func() { close(end); <-ended }
}

// health is the JSON of healthcheck.
type health struct {
	URL     string  `json:"url"`
	Healthy bool    `json:"healthy"`
	Status  int     `json:"status,omitempty"`
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
}

func (a *app) healthcheck() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "healthcheck URL", Short: "Ask a health endpoint, for images that have no curl", Args: one("URL"),
		Long: `Sends GET to a health endpoint and exits with 0 for an answer from 200 to 299, and with 1 for any other
or none. For the HEALTHCHECK of an image, or an exec probe.
` + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			shown, err := checkURL("URL", args[0])
			if err != nil {
				return err
			}
			ctx, cancel, err := bounded(cmd, timeout)
			if err != nil {
				return err
			}
			defer cancel()
			h := ask(ctx, args[0], shown, timeout)
			if cmd.Context().Err() != nil {
				return fail(exitInterrupted, "interrupted")
			}
			if h.Healthy {
				return a.say(h, "healthy: %d", h.Status)
			}
			if a.json {
				if err := a.emit(h); err != nil {
					return err
				}
				return quietly(exitNo)
			}
			return fail(exitNo, "unhealthy: %s", h.Error)
		},
	}
	timeoutFlag(cmd, &timeout, 3*time.Second, "how long to wait for the answer")
	return cmd
}

// ask asks a health endpoint. What is wrong comes with what to do about it.
func ask(ctx context.Context, target, shown string, timeout time.Duration) health {
	h := health{URL: shown}
	began := time.Now()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	var body []byte
	if err == nil {
		h.Status, body, err = do(r)
	}
	h.Seconds = time.Since(began).Seconds()
	h.Healthy = err == nil && h.Status >= 200 && h.Status < 300
	switch {
	case h.Healthy:
	case err == nil:
		said := cmp.Or(printable(strings.TrimSpace(string(body)), 200), http.StatusText(h.Status), "nothing")
		h.Error = fmt.Sprintf("%s answered %d: %s; %s", shown, h.Status, said, mend(h.Status))
	case errors.Is(err, context.DeadlineExceeded):
		h.Error = fmt.Sprintf("%s has not answered within %v; raise --timeout, or see whether the process is stuck", shown, timeout)
	default:
		h.Error = fmt.Sprintf("%s cannot be reached: %s; check the address, and that the process runs", shown, bare(err))
	}
	return h
}

// mend is what to do about an answer that is no good.
func mend(code int) string {
	switch {
	case code >= 300 && code < 400:
		return "give the address that it redirects to"
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return "check the path, such as /livez or /readyz"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return "give the address of an endpoint that asks for no login"
	case code >= 400 && code < 500:
		return "check the address"
	}
	return "see what the process logs"
}
