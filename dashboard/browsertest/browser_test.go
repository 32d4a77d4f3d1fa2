package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// browser is the one browser of a test run; each test opens tabs in it.
type browser struct {
	ctx  context.Context
	stop func()
	err  error
}

// chromium starts it when it is first needed, and started is it once it was.
var (
	started  *browser
	chromium = sync.OnceValue(func() *browser {
		started = launch()
		return started
	})
)

func TestMain(m *testing.M) {
	code := m.Run()
	if started != nil {
		started.stop()
	}
	os.Exit(code)
}

// find returns the browser's binary.
func find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium is installed: make servers installs it (Debian, Ubuntu: apt-get install chromium)")
}

// launch starts the browser, with a profile of its own that is deleted behind it.
func launch() *browser {
	path, err := find()
	if err != nil {
		return &browser{stop: func() {}, err: err}
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"))
	allocator, stopAll := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	return &browser{ctx: ctx, stop: func() { stop(); stopAll() }, err: chromedp.Do(ctx)}
}

// tab is one page in the browser, and what it had to complain of.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
	forgiven []string
}

// open shows a URL in a new tab of this size. Whatever the console says against it fails the test.
func open(t *testing.T, url string, width, height int64, dark bool) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("looking takes seconds")
	}
	c := chromium()
	if c.err != nil {
		if os.Getenv("TENURE_REQUIRE_SERVERS") != "" {
			t.Fatal(c.err)
		}
		t.Skip(c.err)
	}
	ctx, stop := chromedp.NewContext(c.ctx)
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	b := &tab{t: t, ctx: ctx}
	b.do() // the tab is there
	var listening sync.WaitGroup
	messages := chromedp.Console(ctx)
	listening.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.heard(m)
		}
	})
	t.Cleanup(func() {
		cancel()
		stop()
		listening.Wait()
		for _, p := range b.problems {
			if !slices.ContainsFunc(b.forgiven, func(text string) bool { return strings.Contains(p, text) }) {
				t.Errorf("the browser complains: %s", p)
			}
		}
	})
	b.show(url, width, height, dark)
	return b
}

// show shows a URL in this tab, of this size and theme.
func (b *tab) show(url string, width, height int64, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(
		chromedp.EmulateViewport(width, height, func(p *emulation.SetDeviceMetricsOverrideParams, _ *emulation.SetTouchEmulationEnabledParams) {
			p.Mobile = width < 500
		}),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			})
			return err
		}),
		chromedp.Navigate(url),
	)
}

func (b *tab) heard(m chromedp.ConsoleMessage) {
	switch m.Type {
	case chromedp.ConsoleError, chromedp.ConsoleWarning, chromedp.ConsoleException:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, fmt.Sprintf("%s: %s (%s)", m.Type, m.Text, m.URL))
	}
}

// forgive lifts what the test brought about on purpose: complaints that contain the text.
func (b *tab) forgive(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgiven = append(b.forgiven, text)
}

// scriptless turns JavaScript off for the pages that come.
func (b *tab) scriptless() {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval evaluates an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// text returns what the first element that matches says.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`(document.querySelector(%q) || {innerText: ''}).innerText`, selector))
}

// until waits for an expression to be true in the page, and returns how long that took.
func (b *tab) until(what, expression string) time.Duration {
	b.t.Helper()
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(30 * time.Second); ; {
		if eval[bool](b, "Boolean("+expression+")") {
			return time.Since(began)
		}
		select {
		case <-tick.C:
		case <-limit:
			b.t.Fatalf("waited for %s in vain; the page says %q", what, b.text("main"))
		}
	}
}

// picture saves what the page looks like, where somebody wants to see it.
func (b *tab) picture(name string, full bool) {
	b.t.Helper()
	folder := os.Getenv("TENURE_SCREENSHOTS")
	if folder == "" {
		return
	}
	shot := chromedp.CaptureScreenshot()
	if full {
		shot = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(b.ctx, shot)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
