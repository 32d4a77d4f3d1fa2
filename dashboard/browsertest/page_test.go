package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenure-go/tenure/dashboard"
)

func keys(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("feeds/%02d", i+1)
	}
	return out
}

func allow(*http.Request, dashboard.Action) error { return nil }

// three is a settled fleet of pod-1, pod-2 and pod-3 with 24 workloads, and the URL of its page.
func three(t *testing.T) (*live, string) {
	t.Helper()
	l := newLive(t, keys(24), 4*time.Second) // long enough that a busy machine loses nobody else
	url := serve(t, l.store, dashboard.Config{Title: "Feeds", Catalogue: l.planned, Timing: l.timing(), Authorize: allow})
	for i, zone := range []string{"eu-1a", "eu-1b", "eu-1c"} {
		l.join(fmt.Sprintf("pod-%d", i+1), zone)
	}
	return l, url
}

const (
	settled = `document.querySelector('#sentence').innerText == 'All 24 workloads have an owner, on 3 instances, 8 each.'`
	isLive  = `document.querySelector('#feed-text').innerText == 'live'`
)

// The page shows the fleet, and follows it when an instance dies.
func TestFollowsTheFleet(t *testing.T) {
	l, url := three(t)
	b := open(t, url, 1280, 900, false)
	b.until("a settled fleet", settled+" && "+isLive)
	if n := eval[int](b, `document.querySelectorAll('.column .c.active').length`); n != 24 {
		t.Errorf("%d cells, want 24", n)
	}
	for selector, want := range map[string]string{
		"#picture": "8 held · eu-1b · v1.4.0", "#members": "host-a:4711:pod-1-00f3a9", "#workloads": "feeds/24", "#balance": "Even share", "#timeline": "pod-3",
	} {
		if text := b.text(selector); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", selector, want, text)
		}
	}
	eval[bool](b, `(window.unchanged = true)`)
	l.kill("pod-2")
	took := b.until("the silence", `document.querySelector('.column.late h3')?.innerText.includes('pod-2')`)
	t.Logf("shown as silent after %v", took.Round(time.Millisecond))
	b.picture("silent", false)
	took = b.until("the failover", `document.querySelector('#sentence').innerText == 'All 24 workloads have an owner, on 2 instances, 12 each.'`)
	t.Logf("taken over, and shown, after %v more", took.Round(time.Millisecond))
	b.until("the timeline", `document.querySelector('#timeline').innerText.includes('pod-2 was lost')`)
	b.until("the count of moves", `document.querySelector('#balance').innerText.includes('As few as possible')`)
	if !eval[bool](b, `window.unchanged === true`) {
		t.Error("the page was loaded again: nothing came live")
	}
}

// A click on Drain asks first, and then the fleet hands over while one watches.
func TestDrainByAClick(t *testing.T) {
	_, url := three(t)
	b := open(t, url, 1280, 900, true)
	b.until("a settled fleet", settled+" && "+isLive)
	b.do(chromedp.Click(`summary[aria-label="Drain pod-3"]`))
	b.until("the question", `document.querySelector('details[open] form').innerText.includes('takes nothing new')`)
	b.until("news", `performance.now() > 0`)
	if !eval[bool](b, `document.querySelector('details[open]') !== null`) {
		t.Error("the question closes by itself")
	}
	b.picture("drain", false)
	b.do(chromedp.Click(`details[open] button`))
	b.until("the answer", `document.querySelector('.flash') && document.querySelector('.flash').innerText == 'pod-3 was told to drain.'`)
	b.until("the handover", `document.querySelector('#sentence').innerText == 'All 24 workloads have an owner, on 2 instances, 12 each.'`)
	if text := b.text("#timeline"); !strings.Contains(text, "pod-3 was told to drain on this page") {
		t.Errorf("the timeline does not tell: %s", text)
	}
	if eval[int](b, `document.querySelectorAll('summary[aria-label="Drain pod-3"]').length`) != 0 {
		t.Error("it can be drained again")
	}
	// How long a handover took is shown, with the winding down of 40 ms in it.
	b.until("a handover", `/\d+ ms/.test(document.querySelector('#workloads').innerText)`)
}

// Ten thousand workloads: paged and searched by the server, with a page that stays small.
func TestTenThousand(t *testing.T) {
	url := serve(t, big(t, 12, 10_000), dashboard.Config{})
	b := open(t, url, 1280, 900, false)
	b.until("the page", isLive)
	b.picture("large", false)
	if n := eval[int](b, `document.getElementsByTagName('*').length`); n > 2500 {
		t.Errorf("%d elements", n)
	}
	t.Logf("first content after %.0f ms, %.0f KB in all", eval[float64](b, `performance.getEntriesByType('paint')[0].startTime`),
		eval[float64](b, `(performance.getEntriesByType('navigation')[0].transferSize + performance.getEntriesByType('resource').reduce((n, r) => n + r.transferSize, 0)) / 1000`))
	if got := b.text("#sentence"); !strings.HasPrefix(got, "All 10,000 workloads have an owner, on 12 instances") {
		t.Error(got)
	}
	eval[bool](b, `(window.unchanged = true)`)
	b.do(chromedp.Click(`a[rel=next]`))
	b.until("the second page", `document.querySelector('#workloads').innerText.includes('tenant/00049') && location.search == '?page=2'`)
	b.do(chromedp.SendKeys(`input[type=search]`, "0777"))
	took := b.until("what was searched for", `document.querySelector('.found').innerText.startsWith('11 of 10,000')`)
	t.Logf("found after %v, most of it the pause after the last key", took.Round(time.Millisecond))
	b.do(chromedp.Click(`#workloads tbody a`))
	b.until("the reasons", `document.activeElement.id == 'detail-h' && document.querySelector('#detail').innerText.includes('Why it is where it is')`)
	if !eval[bool](b, `window.unchanged === true`) {
		t.Error("the page was loaded again")
	}
	b.do(chromedp.NavigateBack())
	b.until("the list again", `document.querySelector('#detail').innerText.trim() == ''`)
}

// A reader who is somewhere on the page stays there while it changes.
func TestFocusStays(t *testing.T) {
	l, url := three(t)
	b := open(t, url, 1280, 900, false)
	b.until("a settled fleet", settled+" && "+isLive)
	b.do(chromedp.KeyEvent("\t"))
	if got := eval[string](b, `document.activeElement.innerText`); got != "Skip to the workloads" {
		t.Errorf("the first stop is %q", got)
	}
	eval[bool](b, `document.querySelector('#workloads tbody a').focus() || true`)
	before := eval[string](b, `document.activeElement.innerText`)
	l.join("pod-4", "eu-1a")
	b.until("the change", `document.querySelectorAll('.column').length == 4 && document.querySelector('#timeline').innerText.includes('pod-4 joined')`)
	if got := eval[string](b, `document.activeElement.innerText`); got != before || got == "" {
		t.Errorf("the focus went from %q to %q", before, got)
	}
}

func TestWithoutScripts(t *testing.T) {
	_, url := three(t)
	b := open(t, url, 1280, 900, false)
	b.until("a settled fleet", settled)
	b.scriptless()
	b.do(chromedp.Navigate(url + "?q=feeds/1"))
	if text := b.text("#feed"); !strings.Contains(text, "refreshes every 5 s") {
		t.Errorf("%q", text)
	}
	if text := b.text("#workloads"); !strings.Contains(text, "10 of 24 workloads") || !strings.Contains(text, "feeds/10") {
		t.Errorf("%q", text)
	}
	if n := eval[int](b, `document.querySelectorAll('.column .c.active').length`); n != 24 {
		t.Errorf("%d cells", n)
	}
}
