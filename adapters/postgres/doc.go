// Package postgresstore keeps leases, membership and statuses in PostgreSQL.
package postgresstore
