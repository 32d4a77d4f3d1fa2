//go:build !unix

package cli

// signalNumber reads a signal's name; here only the default is known, and nothing can be run in any case.
func signalNumber(text string) (int, bool) { return 15, text == "TERM" }

// cannotBeHandled tells of the signals that no process ever sees; none of them has a name here.
func cannotBeHandled(int) bool { return false }

// relay has nothing to pass on here.
func (l *leader) relay() (stop func()) { return func() {} }
