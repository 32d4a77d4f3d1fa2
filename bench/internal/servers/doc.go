// Package servers starts private Redis and PostgreSQL servers for measurements: each on a free port of 127.0.0.1 in
// a folder of its own, with the durability that it has by default, and ended by its process id.
package servers
