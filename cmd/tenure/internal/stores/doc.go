// Package stores opens whatever store a URL names, and gives the command line what it needs of it beside the contracts:
// a report on the server, its clock, migrations, and scratch fleets for the conformance suite.
//
//	redis://user:password@host:6379/0        one server; rediss:// with TLS
//	redis+sentinel://host1,host2/master/0    through Sentinel; rediss+sentinel://
//	redis+cluster://host1,host2              a cluster; rediss+cluster://
//	postgres://user:password@host/database   PostgreSQL; postgresql:// as well
//
// Parameters behind a question mark are the driver's own. No password is ever part of an error.
package stores
