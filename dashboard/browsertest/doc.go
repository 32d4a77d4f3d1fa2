// Package browsertest looks at the dashboard with a real browser: headless Chromium, which every test
// run starts privately and ends. It is a module of its own, so that nobody else needs what drives a browser.
package browsertest
