// Package snippets compiles every Go snippet of the documentation, and checks its links, the tests that it names
// and the numbers that it derives.
//
// A snippet is a fenced block of the language go, in README.md or under docs. It is one of three:
//
//   - a whole file, which begins with a package clause;
//   - declarations, which begin with func, type, var or const;
//   - the body of a function that has a ctx and returns an error.
//
// The last two may use what the names in prelude.go mean; imports follow from the package names that occur. A
// comment right above the block declares more, or the same name as something else:
//
//	<!-- snippet: var store *postgresstore.Store -->
package snippets
