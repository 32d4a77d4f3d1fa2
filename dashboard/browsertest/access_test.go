package browsertest

import (
	_ "embed"
	"testing"
)

// audit finds what would keep somebody from reading or using the page: colours too close to each other, controls
// and images without a name, labels and references that lead nowhere, headings that skip a level.
//
//go:embed audit.js
var audit string

// The page can be read and used, in both themes, wide and narrow, with everything open; and nothing of it has to
// be scrolled sideways on a telephone.
func TestReadableByEverybody(t *testing.T) {
	l, url := three(t)
	b := open(t, url, 1280, 900, false) // one tab for all: several live ones would draw at once
	b.until("a settled fleet", settled)
	l.kill("pod-2") // something is late, lost or without an owner meanwhile
	for _, c := range []struct {
		name  string
		width int64
		dark  bool
	}{{"wide-light", 1280, false}, {"wide-dark", 1280, true}, {"narrow-light", 390, false}, {"narrow-dark", 390, true}} {
		b.show(url+"?w=feeds/07&q=feeds&state=active", c.width, 844, c.dark)
		b.until("the page", isLive)
		eval[bool](b, `document.querySelectorAll('details').forEach((d) => { d.open = true; }) || true`)
		for _, fault := range eval[[]string](b, audit) {
			t.Errorf("%s: %s", c.name, fault)
		}
		if over := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("%s: %d px have to be scrolled sideways", c.name, over)
		}
		b.picture(c.name, true)
	}
	b.show(url+"?state=happy", 390, 844, true)
	for _, fault := range eval[[]string](b, audit) {
		t.Errorf("refusal: %s", fault)
	}
	b.forgive("400") // the status that was asked for
}
