// Package servers starts private Redis and PostgreSQL servers for tests: each on a free port of 127.0.0.1, without
// a trace on the machine's own servers, and ended by its process id when the test is over.
package servers
